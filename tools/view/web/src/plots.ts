// SPDX-License-Identifier: MIT
// Plots: tracks that the user adds, worked out from the recording. The time between two events, the
// values of a field, how long a function took over time, waits for locks, holders of locks, rows of
// SQL.
import { parseFilter, step } from "./filter";
import { Row, lowerBound } from "./local";
import { fieldOf } from "./match";
import { Entry, Info, Source, isEvent } from "./source";

type Shape = "spans" | "values" | "heat";

// What the user asked for; a saved session has this.
export type PlotDefinition =
  | { kind: "pair"; from: string; to: string; by: string } // filters; task, cpu, all, or a field
  | { kind: "field"; events: string; field: string }
  | { kind: "heat"; name: string }
  | { kind: "locks" } // waits for locks
  | { kind: "held" } // holders of locks
  | { kind: "sql"; question: string };

export interface Plot {
  title: string;
  shape: Shape;
  rows: Row[];
  names: string[];
  values?: number[]; // of shape "values", one for each start
  definition: PlotDefinition;
}

const CHUNK = 20000; // entries of one request
const MAX_ENTRIES = 1_000_000; // entries of one track
const MAX_ROWS = 8; // of spans that overlap
const MAX_LOCKS = 20;

// The entries that meet a condition, in order of time.
async function collect(source: Source, steps: string): Promise<Entry[]> {
  const those = source.filtered(steps), out: Entry[] = [];
  while (out.length < MAX_ENTRIES) {
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

// Spans that overlap go into different rows. Those that would need more than MAX_ROWS are left out.
function stackInRows(pieces: Piece[]): { rows: Row[]; names: string[] } {
  const names = [...new Set(pieces.map((p) => p.name))], number = new Map(names.map((n, i) => [n, i]));
  const rows: Row[] = [];
  for (const { start, length, name } of [...pieces].sort((a, b) => a.start - b.start)) {
    let row = rows.find((r) => r.start[r.start.length - 1] + r.length[r.length.length - 1] <= start);
    if (!row && rows.length < MAX_ROWS) rows.push((row = { start: [], length: [], name: [], extra: null }));
    if (!row) continue;
    row.start.push(start);
    row.length.push(length);
    row.name.push(number.get(name)!);
  }
  return { rows: rows.length ? rows : [{ start: [], length: [], name: [], extra: null }], names };
}

function pairKey(info: Info, entry: Entry, by: string): string | undefined {
  const track = info.tracks[entry[3]];
  if (by === "all") return "all";
  if (by === "cpu") return `CPU ${entry[6]}`;
  if (by === "task") return `${track.name}-${track.id}`;
  const field = isEvent(entry) ? fieldOf(entry[8]!, by) : undefined;
  return field === undefined ? undefined : `${by} ${field}`;
}

// The time from each first event to the second one of the same task, CPU or field. Both fields may
// be given as `next_pid=prev_pid`.
function pairs(info: Info, from: Entry[], to: Entry[], by: string): Piece[] {
  const [a, b] = by.includes("=") ? by.split("=") : [by, by];
  const open = new Map<string, number>(), out: Piece[] = [];
  const value = (entry: Entry, column: string) => pairKey(info, entry, column)?.replace(/^\w+ /, "");
  let i = 0;
  for (const end of to) {
    // an event at the same time as the end opens a pair only if its number is smaller
    for (; i < from.length && (from[i][0] < end[0] || (from[i][0] === end[0] && from[i][5] < end[5])); i++) {
      const key = value(from[i], a);
      if (key !== undefined) open.set(key, from[i][0]);
    }
    const key = value(end, b), start = key === undefined ? undefined : open.get(key);
    if (start === undefined) continue;
    open.delete(key!);
    out.push({ start, length: end[0] - start, name: pairKey(info, end, b)! });
  }
  return out;
}

// For each lock's address: which threads waited for it or held it, and how long.
type Uses = Map<string, Piece[]>;

function addUse(uses: Uses, info: Info, begin: Entry, end: number) {
  const lock = lockOf(begin), track = info.tracks[begin[3]];
  if (!uses.has(lock)) uses.set(lock, []);
  uses.get(lock)!.push({ start: begin[0], length: end - begin[0], name: `${track.name}-${track.id}` });
}

// The text of a lock's event begins with the lock's address.
function lockOf(entry: Entry): string {
  return entry[8]!.split(" ")[0];
}

async function waits(source: Source, info: Info): Promise<Uses> {
  const uses: Uses = new Map(), open = new Map<number, Entry>();
  for (const e of await collect(source, parseFilter("event == contention_begin || event == contention_end", info.first))) {
    const begin = open.get(e[3]);
    if (info.names[e[2]].endsWith("contention_begin")) open.set(e[3], e);
    else if (begin && open.delete(e[3])) addUse(uses, info, begin, e[0]);
  }
  return uses;
}

// A lock is held from lock_acquired, or from a lock_acquire that only tries, to the release by the
// same thread.
async function holds(source: Source, info: Info): Promise<Uses> {
  const uses: Uses = new Map(), open = new Map<string, Entry[]>();
  for (const e of await collect(source, parseFilter("event == lock_acquire || event == lock_acquired || event == lock_release", info.first))) {
    const key = `${e[3]} ${lockOf(e)}`, name = info.names[e[2]];
    if (name.endsWith("lock_acquired") || (name.endsWith("lock_acquire") && / try\b/.test(e[8]!))) open.set(key, [...(open.get(key) || []), e]);
    else if (name.endsWith("lock_release")) {
      const begin = open.get(key)?.pop();
      if (begin && !open.get(key)!.length) addUse(uses, info, begin, e[0]);
    }
  }
  for (const [begin] of open.values()) if (begin) addUse(uses, info, begin, info.duration);
  return uses;
}

// A track for each lock, those with the most time first.
async function locks(source: Source, info: Info, definition: PlotDefinition): Promise<Plot[]> {
  const held = definition.kind === "held", uses = await (held ? holds : waits)(source, info);
  if (!uses.size) throw new Error(held ? "No holders of locks are recorded: record with -e lock." : "No waits for locks are recorded: record with -e lock.");
  const time = (pieces: Piece[]) => pieces.reduce((sum, p) => sum + p.length, 0);
  return [...uses].sort((a, b) => time(b[1]) - time(a[1])).slice(0, MAX_LOCKS)
    .map(([lock, pieces]) => ({ title: `${held ? "holders of" : "waits for"} lock ${lock}`, shape: "spans", ...stackInRows(pieces), definition }));
}

export function plotTitle(definition: PlotDefinition): string {
  switch (definition.kind) {
    case "pair": return `${definition.from} → ${definition.to} by ${definition.by}`;
    case "field": return `${definition.field} of ${definition.events}`;
    case "heat": return `how long ${definition.name} took`;
    case "locks": return "waits for locks";
    case "held": return "holders of locks";
    default: return definition.question.replace(/\s+/g, " ").slice(0, 60);
  }
}

export async function makePlots(source: Source, info: Info, definition: PlotDefinition): Promise<Plot[]> {
  const title = plotTitle(definition);
  switch (definition.kind) {
    case "pair": {
      const [from, to] = await Promise.all([definition.from, definition.to].map((f) => collect(source, parseFilter(f, info.first))));
      const pieces = pairs(info, from, to, definition.by);
      if (!pieces.length) throw new Error(`No such pair is recorded: ${title}. ${from.length} begin and ${to.length} end.`);
      return [{ title, shape: "spans", ...stackInRows(pieces), definition: definition }];
    }
    case "field": {
      const values: number[] = [], start: number[] = [];
      for (const entry of await collect(source, parseFilter(definition.events, info.first))) {
        const value = Number(isEvent(entry) ? fieldOf(entry[8]!, definition.field) : definition.field === "length" ? entry[1] : undefined);
        if (isNaN(value)) continue;
        start.push(entry[0]);
        values.push(value);
      }
      if (!start.length) throw new Error(`No number is recorded in ${title}.`);
      return [{ title, shape: "values", rows: [{ start, length: start.map(() => 0), name: start.map(() => 0), extra: null }], names: [definition.field], values, definition: definition }];
    }
    case "heat": {
      const calls = (await collect(source, step("event", "eq", definition.name))).filter((e) => !isEvent(e));
      if (!calls.length) throw new Error(`No call of ${definition.name} is recorded.`);
      return [{ title, shape: "heat", rows: [{ start: calls.map((c) => c[0]), length: calls.map((c) => c[1]), name: calls.map(() => 0), extra: null }], names: [definition.name], definition: definition }];
    }
    case "locks":
    case "held":
      return locks(source, info, definition);
    default: {
      if (!source.sql) throw new Error("This page has no server that answers SQL.");
      const { names, rows, error } = await source.sql(definition.question);
      const [start, length, name] = ["start", "duration", "name"].map((n) => (names || []).indexOf(n));
      if (error) throw new Error(error);
      if (start < 0) throw new Error("The result has no column start, so it cannot be put on the timeline.");
      const pieces = rows.filter((r) => /^\d+$/.test(r[start] || "")).map((r) => ({ start: Number(BigInt(r[start]!) - BigInt(info.first)), length: Number(r[length] || 0), name: r[name] || "" }));
      return [{ title, shape: "spans", ...stackInRows(pieces), definition: definition }];
    }
  }
}

export interface PlotTimes {
  nr: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  longest: { row: number; i: number; start: number; length: number }[];
}

// The lengths of a plot's spans that begin in a range.
export function plotTimes(plot: Plot, from: number, to: number): PlotTimes {
  const all = plot.rows.flatMap((r, row) => {
    const out = [];
    for (let i = lowerBound(r.start, from); i < r.start.length && r.start[i] < to; i++) out.push({ row, i, start: r.start[i], length: r.length[i] });
    return out;
  });
  all.sort((a, b) => b.length - a.length);
  const percent = (p: number) => (all.length ? all[all.length - Math.ceil((all.length * p) / 100)].length : 0);
  return { nr: all.length, p50: percent(50), p90: percent(90), p99: percent(99), max: all.length ? all[0].length : 0, longest: all.slice(0, 10) };
}
