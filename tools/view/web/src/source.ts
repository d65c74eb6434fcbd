// SPDX-License-Identifier: MIT
// What the page asks of a recording. The shapes are those of tools/view/answers.h; times are ns since
// the recording's first one.

export type Kind = "cpu" | "cpu-events" | "states" | "events" | "calls";

export interface Track {
  kind: Kind;
  id: number; // of a CPU its number, else the thread
  pid: number; // 0: unknown, or a CPU
  stack: number; // of calls on another stack than the thread's own
  name: string;
  rows: number[]; // how many spans each has
}

export interface Info {
  version: number;
  path: string;
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
  leftOut: number; // calls that this page does not have,
  shortest: number; // which are shorter than this
  leftEvents: number; // the last ones
}

// A block of spans: the numbers at these places, WORDS apart.
export const WORDS = 7;
export const START = 0, LENGTH = 1, NAME = 2, COUNT = 3, BUSY = 4, WHICH = 5, EXTRA = 6;

// start, length, name, track, row, number in it; of an event: CPU, thread, text
export type Entry = [number, number, number, number, number, number, number?, number?, string?];

// name, calls, total, self, shortest, longest
export type TableRow = [number, number, number, number, number, number];
// caller's row (0: none), name, calls, total, self
export type FlameRow = [number, number, number, number, number];

export interface Found {
  at: number; // -1: there is none
  nr: number;
  before: number;
}

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
  find(text: string, at: number, backward: boolean): Promise<Found>;
  table(from: number, to: number, tracks: number[]): Promise<TableRow[]>;
  flame(from: number, to: number, tracks: number[]): Promise<FlameRow[]>;
  function(name: number): Promise<FunctionTimes>;
  sql?(question: string): Promise<SqlAnswer>; // a page in a file has none
}
