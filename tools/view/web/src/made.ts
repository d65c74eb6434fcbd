// SPDX-License-Identifier: MIT
// Tracks that the user makes of what is recorded: the time between two events, the values of a field,
// how long a function took over time, waits for locks, rows of an SQL answer.
import { parseFilter, step } from "./filter";
import { Row, lower } from "./local";
import { fieldOf } from "./match";
import { Entry, Info, Source, isEvent } from "./source";

export type Shape = "spans" | "plot" | "heat";

// What a track is made of; a saved session has this.
export type Definition =
  | { kind: "pair"; from: string; to: string; by: string } // filters; task, cpu, all, or a field
  | { kind: "field"; events: string; field: string }
  | { kind: "heat"; name: string }
  | { kind: "locks" }
  | { kind: "sql"; question: string };

export interface Made {
  title: string;
  shape: Shape;
  rows: Row[];
  names: string[];
  values?: number[]; // of a plot, for each start
  of: Definition;
}

const CHUNK = 20000; // entries of one answer
const MOST = 1_000_000; // entries of one track
const MOST_ROWS = 8; // of spans that overlap
const MOST_LOCKS = 20;

// The entries that meet a condition, in order of time.
export async function collect(source: Source, steps: string): Promise<Entry[]> {
  const those = source.filtered(steps), out: Entry[] = [];
  while (out.length < MOST) {
    const more = await those.list(out.length, CHUNK);
    out.push(...more);
    if (more.length < CHUNK) break;
  }
  return out;
}

interface Piece {
  start: number;
  length: number;
  name: string;
}

// Spans in as many rows as they overlap, those beyond the last row left out.
function inRows(pieces: Piece[]): { rows: Row[]; names: string[] } {
  const names = [...new Set(pieces.map((p) => p.name))], number = new Map(names.map((n, i) => [n, i]));
  const rows: Row[] = [];
  for (const { start, length, name } of [...pieces].sort((a, b) => a.start - b.start)) {
    let row = rows.find((r) => r.start[r.start.length - 1] + r.length[r.length.length - 1] <= start);
    if (!row && rows.length < MOST_ROWS) rows.push((row = { start: [], length: [], name: [], extra: null }));
    if (!row) continue;
    row.start.push(start);
    row.length.push(length);
    row.name.push(number.get(name)!);
  }
  return { rows: rows.length ? rows : [{ start: [], length: [], name: [], extra: null }], names };
}

function keyOf(info: Info, entry: Entry, by: string): string | undefined {
  const track = info.tracks[entry[3]];
  if (by === "all") return "all";
  if (by === "cpu") return `CPU ${entry[6]}`;
  if (by === "task") return `${track.name}-${track.id}`;
  const field = isEvent(entry) ? fieldOf(entry[8]!, by) : undefined;
  return field === undefined ? undefined : `${by} ${field}`;
}

// The time from each first event to the second one of the same task, CPU or field. Both fields may be
// given as `next_pid=prev_pid`.
function pairs(info: Info, from: Entry[], to: Entry[], by: string): Piece[] {
  const [a, b] = by.includes("=") ? by.split("=") : [by, by];
  const open = new Map<string, number>(), out: Piece[] = [];
  const value = (entry: Entry, column: string) => keyOf(info, entry, column)?.replace(/^\w+ /, "");
  let i = 0;
  for (const end of to) {
    // what begins at the same time as the end began before it only if it is no end itself
    for (; i < from.length && (from[i][0] < end[0] || (from[i][0] === end[0] && from[i][5] < end[5])); i++) {
      const key = value(from[i], a);
      if (key !== undefined) open.set(key, from[i][0]);
    }
    const key = value(end, b), start = key === undefined ? undefined : open.get(key);
    if (start === undefined) continue;
    open.delete(key!);
    out.push({ start, length: end[0] - start, name: keyOf(info, end, b)! });
  }
  return out;
}

const WAITS = ["contention_begin", "contention_end"];

// A track for each lock that was waited for: who waited.
async function locks(source: Source, info: Info, of: Definition): Promise<Made[]> {
  const [begins, ends] = await Promise.all(WAITS.map((name) => collect(source, parseFilter(`event == ${name}`, info.first))));
  const open = new Map<number, Entry>(), waits = new Map<string, Piece[]>();
  let i = 0;
  for (const end of ends) {
    for (; i < begins.length && begins[i][0] <= end[0]; i++) open.set(begins[i][3], begins[i]);
    const begin = open.get(end[3]);
    if (!begin) continue;
    open.delete(end[3]);
    const lock = begin[8]!.split(" ")[0], track = info.tracks[begin[3]];
    if (!waits.has(lock)) waits.set(lock, []);
    waits.get(lock)!.push({ start: begin[0], length: end[0] - begin[0], name: `${track.name}-${track.id}` });
  }
  if (!waits.size) throw new Error("No waits for locks are recorded: record with -e lock.");
  const time = (pieces: Piece[]) => pieces.reduce((sum, p) => sum + p.length, 0);
  return [...waits].sort((a, b) => time(b[1]) - time(a[1])).slice(0, MOST_LOCKS)
    .map(([lock, pieces]) => ({ title: `waits for lock ${lock}`, shape: "spans", ...inRows(pieces), of }));
}

export function describe(of: Definition): string {
  switch (of.kind) {
    case "pair": return `${of.from} → ${of.to} by ${of.by}`;
    case "field": return `${of.field} of ${of.events}`;
    case "heat": return `how long ${of.name} took`;
    case "locks": return "waits for locks";
    default: return of.question.replace(/\s+/g, " ").slice(0, 60);
  }
}

export async function make(source: Source, info: Info, of: Definition): Promise<Made[]> {
  const title = describe(of);
  switch (of.kind) {
    case "pair": {
      const [from, to] = await Promise.all([of.from, of.to].map((f) => collect(source, parseFilter(f, info.first))));
      const pieces = pairs(info, from, to, of.by);
      if (!pieces.length) throw new Error(`No such pair is recorded: ${title}. ${from.length} begin and ${to.length} end.`);
      return [{ title, shape: "spans", ...inRows(pieces), of }];
    }
    case "field": {
      const values: number[] = [], start: number[] = [];
      for (const entry of await collect(source, parseFilter(of.events, info.first))) {
        const value = Number(isEvent(entry) ? fieldOf(entry[8]!, of.field) : of.field === "length" ? entry[1] : undefined);
        if (isNaN(value)) continue;
        start.push(entry[0]);
        values.push(value);
      }
      if (!start.length) throw new Error(`No number is recorded in ${title}.`);
      return [{ title, shape: "plot", rows: [{ start, length: start.map(() => 0), name: start.map(() => 0), extra: null }], names: [of.field], values, of }];
    }
    case "heat": {
      const calls = (await collect(source, step("event", "eq", of.name))).filter((e) => !isEvent(e));
      if (!calls.length) throw new Error(`No call of ${of.name} is recorded.`);
      return [{ title, shape: "heat", rows: [{ start: calls.map((c) => c[0]), length: calls.map((c) => c[1]), name: calls.map(() => 0), extra: null }], names: [of.name], of }];
    }
    case "locks":
      return locks(source, info, of);
    default: {
      if (!source.sql) throw new Error("This page has no server that answers SQL.");
      const { names, rows, error } = await source.sql(of.question);
      const [start, length, name] = ["start", "duration", "name"].map((n) => (names || []).indexOf(n));
      if (error) throw new Error(error);
      if (start < 0) throw new Error("The answer has no column start: there is nothing to put on the timeline.");
      const pieces = rows.filter((r) => /^\d+$/.test(r[start] || "")).map((r) => ({ start: Number(BigInt(r[start]!) - BigInt(info.first)), length: Number(r[length] || 0), name: r[name] || "" }));
      return [{ title, shape: "spans", ...inRows(pieces), of }];
    }
  }
}

export interface Times {
  nr: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  longest: { row: number; i: number; start: number; length: number }[];
}

// How long the spans of a made track are that begin in a range.
export function timesOf(made: Made, from: number, to: number): Times {
  const all = made.rows.flatMap((r, row) => {
    const out = [];
    for (let i = lower(r.start, from); i < r.start.length && r.start[i] < to; i++) out.push({ row, i, start: r.start[i], length: r.length[i] });
    return out;
  });
  all.sort((a, b) => b.length - a.length);
  const percent = (p: number) => (all.length ? all[all.length - Math.ceil((all.length * p) / 100)].length : 0);
  return { nr: all.length, p50: percent(50), p90: percent(90), p99: percent(99), max: all.length ? all[0].length : 0, longest: all.slice(0, 10) };
}
