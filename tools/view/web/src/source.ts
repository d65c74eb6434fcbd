// SPDX-License-Identifier: MIT
// What the page can request of a recording. tools/view/answers.h has the shapes. Times are ns
// since the recording's first one.

export type Kind = "cpu" | "cpu-events" | "states" | "events" | "calls";

export interface Track {
  kind: Kind;
  file: number; // of Info.files
  id: number; // of a CPU its number, else the thread
  pid: number; // 0: unknown, or a CPU
  stack: number; // of calls on another stack than the thread's own
  name: string;
  buffer?: string; // the instance, in a recording with several; absent: the top one, or all
  rows: number[]; // how many spans each has
}

export interface Info {
  version: number;
  path: string;
  files: string[]; // what is shown together
  offsets: number[]; // ns that were added to the times of each
  // of a guest: the number of its host's file, and pairs of a CPU of the guest and the host's
  // thread that runs it
  hosts: ([number, [number, number][]] | null)[];
  command: string;
  uname: string;
  clock: string;
  ns: boolean;
  first: string; // of the trace's clock
  duration: number;
  calls: number;
  events: number;
  list: number;
  tooDeep: number;
  lost: [number, number, number][]; // when, CPU, how many (-1: not known)
  names: string[];
  objects: (string | null)[];
  places: (string | null)[]; // none without --srcline
  tracks: Track[];
  leftOut: number; // calls that this page lacks (--html)
  shortest: number; // ns; the calls left out are shorter
  leftEvents: number; // events that this page lacks: the last ones
  live: boolean; // the recording goes on: it is read again
  reading: boolean; // it is being read: only spans can be requested, and they are coarse
  session: boolean; // --session FILE: Save writes the session there
}

// A block of spans is WORDS numbers of an array, at these offsets.
export const WORDS = 7;
export const START = 0, LENGTH = 1, NAME = 2, COUNT = 3, BUSY = 4, WHICH = 5, EXTRA = 6;

// start, length, name, track, row, number in it, CPU (-1 unknown); of an event: latency flags, text
export type Entry = [number, number, number, number, number, number, number, string?, string?];

export function isEvent(entry: Entry): boolean {
  return entry[8] !== undefined;
}

// name, calls, total, self, shortest, longest
export type TableRow = [number, number, number, number, number, number];
// caller's row (0: none), name, calls, total, self
export type FlameRow = [number, number, number, number, number];
// how many, the first, the last; -1: there is none
export type Found = [number, number, number];

// All calls of one function.
export interface FunctionTimes {
  calls: number;
  total: number;
  p50: number;
  p90: number;
  p99: number;
  buckets: number[]; // [i]: from 2^i ns to less than 2^(i+1)
  longest: [number, number, number, number, number][]; // start, length, track, row, number in it
}

// Cells are texts, null where there is none.
export interface SqlAnswer {
  error?: string;
  names: string[];
  rows: (string | null)[][];
  cut: boolean; // there are more rows
}

export interface Source {
  info(): Promise<Info>;
  spans(rows: [number, number][], from: number, to: number, pixel: number): Promise<ArrayLike<number>[]>;
  list(at: number, nr: number): Promise<Entry[]>;
  // The number of the first entry of the list that begins at `ts` or later.
  number(ts: number): Promise<number>;
  // Which of the entries `from` to `to` - 1 of the list meet a condition (filter.ts).
  find(steps: string, from: number, to: number): Promise<Found>;
  table(from: number, to: number, tracks: number[]): Promise<TableRow[]>;
  // `offCpu`: only time in which the threads did not run counts.
  flame(from: number, to: number, tracks: number[], offCpu: boolean): Promise<FlameRow[]>;
  function(name: number, from: number, to: number): Promise<FunctionTimes>;
  // The recording without what does not meet a condition; "": all of it.
  filtered(steps: string): Source;
  // Only the server has these; a page in a file does not.
  sql?(question: string): Promise<SqlAnswer>;
  text?(name: number): Promise<SourceText>;
  generation?(): Promise<number>; // of a live recording: how often it was read
  load?(): Promise<string>; // the saved session, "" none
  save?(session: string): Promise<void>;
}

// Lines of the source of a function.
export interface SourceText {
  error?: string;
  path: string;
  line: number; // where the function begins
  lines: string[];
}
