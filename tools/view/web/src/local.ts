// SPDX-License-Identifier: MIT
// The recording in the page itself (vestige view --html). It gives the server's answers, from the
// columns that html.c wrote.
import { Item, condition } from "./match";
import { Entry, FlameRow, Found, FunctionTimes, Info, Source, TableRow, Track, isEvent } from "./source";

// Of each span: start, as difference to the one before; length; name; and for CPUs and states its
// extra.
type RowColumns = [number[], number[], number[], number[]?];

interface Recording {
  info: Info;
  rows: (RowColumns[] | null)[]; // by track; null: a track of events, made from `events`
  events: Events; // ts: differences
  texts: string[];
}

// By number. `track`: their thread's; `text` and `latency`: numbers of texts.
interface Events {
  ts: number[];
  cpu: number[];
  track: number[];
  name: number[];
  latency: number[];
  text: number[];
}

export interface Row {
  start: number[];
  length: number[];
  name: number[];
  extra: number[] | null;
}

function sums(differences: number[]): number[] {
  let at = 0;
  return differences.map((d) => (at += d));
}

// The index of the first number of `sorted` that is at least `value`.
export function lowerBound(sorted: number[], value: number): number {
  let low = 0, high = sorted.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (sorted[mid] < value) low = mid + 1;
    else high = mid;
  }
  return low;
}

interface Walker {
  enter(name: number): void;
  leave(name: number, length: number, beneath: number, start: number): void;
}

export class LocalSource implements Source {
  private order: Uint32Array | null = null; // the list: 0 an event, else 1 + index of a row
  private callRows: { track: number; row: number; columns: Row }[] = [];

  private constructor(private all: Info, private texts: string[], private events: Events, private tracks: Row[][]) {
    all.tracks.forEach((track, i) => {
      if (track.kind === "calls") tracks[i].forEach((columns, row) => this.callRows.push({ track: i, row, columns }));
    });
  }

  static of(recording: Recording): LocalSource {
    const { info, texts } = recording;
    const events = { ...recording.events, ts: sums(recording.events.ts) };
    const tracks = info.tracks.map((_, i) => {
      const rows = recording.rows[i];
      if (!rows) return [eventRow(info.tracks, events, i)];
      return rows.map(([start, length, name, extra]) => ({ start: sums(start), length, name, extra: extra || null }));
    });
    return new LocalSource(info, texts, events, tracks);
  }

  // As columns_filter() of tools/view/match.h.
  filtered(steps: string): Source {
    if (!steps) return this;
    const met = condition(steps), { all, events } = this;
    const kept = events.ts.map((_, i) => i).filter((i) => met(this.eventItem(i)) === true);
    const pick = (column: number[]) => kept.map((i) => column[i]);
    const left: Events = { ts: pick(events.ts), cpu: pick(events.cpu), track: pick(events.track), name: pick(events.name), latency: pick(events.latency), text: pick(events.text) };
    const tracks = all.tracks.map((track, t) => {
      if (track.kind === "events" || track.kind === "cpu-events") return [eventRow(all.tracks, left, t)];
      return this.tracks[t].map((row, depth) => {
        const those = row.start.map((_, i) => i).filter((i) => {
          const is = met(this.spanItem(t, depth, i));
          return is === true || (is === undefined && track.kind !== "calls");
        });
        return { start: those.map((i) => row.start[i]), length: those.map((i) => row.length[i]), name: those.map((i) => row.name[i]), extra: row.extra && those.map((i) => row.extra![i]) };
      });
    });
    return new LocalSource(all, this.texts, left, tracks);
  }

  private eventItem(i: number): Item {
    const { events, texts } = this, track = this.all.tracks[events.track[i]];
    return { event: this.all.names[events.name[i]], info: texts[events.text[i]], latency: texts[events.latency[i]], task: track.name, pid: track.id, cpu: events.cpu[i], time: events.ts[i] };
  }

  private spanItem(t: number, depth: number, i: number): Item {
    const track = this.all.tracks[t], row = this.tracks[t][depth], name = this.all.names[row.name[i]], extra = row.extra ? row.extra[i] | 0 : -1;
    if (track.kind === "cpu") return { task: name, pid: extra, cpu: track.id };
    if (track.kind === "states") return { task: track.name, pid: track.id, cpu: extra };
    return { event: name, task: track.name, pid: track.id, cpu: extra < 0 ? undefined : extra, time: row.start[i], length: row.length[i], depth };
  }

  async info(): Promise<Info> {
    return this.all;
  }

  async spans(rows: [number, number][], from: number, to: number, pixel: number): Promise<number[][]> {
    pixel = Math.floor(pixel);
    return rows.map(([track, row]) => {
      const columns = this.tracks[track]?.[row];
      return columns ? query(columns, Math.floor(from), Math.floor(to), pixel) : [];
    });
  }

  // For each entry of the list, which source it comes from.
  private listOrder(): Uint32Array {
    if (this.order) return this.order;
    const next = new Array(this.callRows.length + 1).fill(0);
    const starts = [this.events.ts, ...this.callRows.map((r) => r.columns.start)];
    const order = new Uint32Array(starts.reduce((nr, s) => nr + s.length, 0));
    // a heap of the sources by their next start, then by their place
    const heap: number[] = [];
    const less = (a: number, b: number) =>
      starts[a][next[a]] < starts[b][next[b]] || (starts[a][next[a]] === starts[b][next[b]] && a < b);
    const down = (i: number) => {
      for (;;) {
        let least = i;
        for (const child of [2 * i + 1, 2 * i + 2])
          if (child < heap.length && less(heap[child], heap[least])) least = child;
        if (least === i) return;
        [heap[i], heap[least]] = [heap[least], heap[i]];
        i = least;
      }
    };
    starts.forEach((s, i) => s.length && heap.push(i));
    for (let i = heap.length >> 1; i >= 0; i--) down(i);
    for (let i = 0; heap.length; i++) {
      const s = heap[0];
      order[i] = s;
      if (++next[s] === starts[s].length) {
        heap[0] = heap[heap.length - 1];
        heap.pop();
      }
      down(0);
    }
    this.order = order;
    return order;
  }

  private entry(source: number, i: number): Entry {
    const { events, texts } = this;
    if (source === 0) return [events.ts[i], 0, events.name[i], events.track[i], 0, i, events.cpu[i], texts[events.latency[i]], texts[events.text[i]]];
    const { track, row, columns } = this.callRows[source - 1];
    return [columns.start[i], columns.length[i], columns.name[i], track, row, i, columns.extra![i] | 0];
  }

  private each(from: number, to: number, visit: (entry: Entry, at: number) => void) {
    const order = this.listOrder();
    const next = new Array(this.callRows.length + 1).fill(0);
    for (let i = 0; i < Math.min(to, order.length); i++) {
      const nr = next[order[i]]++;
      if (i >= from) visit(this.entry(order[i], nr), i);
    }
  }

  async list(at: number, nr: number): Promise<Entry[]> {
    const out: Entry[] = [];
    this.each(at, at + nr, (entry) => out.push(entry));
    return out;
  }

  async number(ts: number): Promise<number> {
    ts = Math.floor(ts);
    return this.callRows.reduce((nr, r) => nr + lowerBound(r.columns.start, ts), lowerBound(this.events.ts, ts));
  }

  async find(steps: string, from: number, to: number): Promise<Found> {
    const met = condition(steps), found: Found = [0, -1, -1];
    this.each(from, to, (entry, i) => {
      if (met(isEvent(entry) ? this.eventItem(entry[5]) : this.spanItem(entry[3], entry[4], entry[5])) !== true) return;
      found[0]++;
      if (found[1] < 0) found[1] = i;
      found[2] = i;
    });
    return found;
  }

  async table(from: number, to: number, tracks: number[]): Promise<TableRow[]> {
    const rows: (TableRow | undefined)[] = [];
    const open: number[] = [];
    this.walk(from, to, tracks, {
      enter: (name) => (open[name] = (open[name] || 0) + 1),
      leave: (name, length, beneath) => {
        const r = (rows[name] = rows[name] || [name, 0, 0, 0, length, 0]);
        r[1]++;
        r[3] += length - beneath;
        r[4] = Math.min(r[4], length);
        r[5] = Math.max(r[5], length);
        if (!--open[name]) r[2] += length; // a recursion counts once
      },
    });
    return rows.filter((r): r is TableRow => !!r);
  }

  async flame(from: number, to: number, tracks: number[], offCpu: boolean): Promise<FlameRow[]> {
    const nodes: FlameRow[] = [[0, 0, 0, 0, 0]];
    const children = new Map<string, number>();
    let at = 0;
    const walker = (weight: (start: number, length: number) => number): Walker => ({
      enter: (name) => {
        const key = `${at} ${name}`;
        let node = children.get(key);
        if (node === undefined) {
          node = nodes.push([at, name, 0, 0, 0]) - 1;
          children.set(key, node);
        }
        at = node;
      },
      leave: (_name, length, _beneath, start) => {
        nodes[at][2]++;
        nodes[at][3] += weight(start, length);
        at = nodes[at][0];
      },
    });
    if (!offCpu) this.walk(from, to, tracks, walker((_start, length) => length));
    else
      this.all.tracks.forEach((track, i) => {
        if (track.kind !== "calls" || (tracks.length && !tracks.includes(i))) return;
        const states = this.all.tracks.findIndex((t) => t.kind === "states" && t.id === track.id && t.pid === track.pid && t.file === track.file);
        if (states >= 0) this.walk(from, to, [i], walker(this.offCpu(this.tracks[states][0])));
      });
    for (const [parent, , , total] of nodes.slice(1)) nodes[parent][4] -= total;
    return nodes.slice(1).map(([parent, name, calls, total, less]) => [parent, name, calls, total, total + less]);
  }

  // A function that gives how long a thread did not run within a time.
  private offCpu(states: Row): (start: number, length: number) => number {
    const before = [0];
    states.start.forEach((_, i) => before.push(before[i] + (this.all.names[states.name[i]] === "running" ? 0 : states.length[i])));
    const until = (ts: number) => {
      const i = overlapping(states, ts), start = i < states.start.length ? states.start[i] : ts;
      return before[i] + (ts > start && before[i + 1] > before[i] ? ts - start : 0);
    };
    return (start, length) => until(start + length) - until(start);
  }

  async function(name: number, from: number, to: number): Promise<FunctionTimes> {
    const calls: [number, number, number, number, number][] = [];
    this.callRows.forEach(({ track, row, columns }) =>
      columns.name.forEach((n, i) => n === name && columns.start[i] >= from && columns.start[i] < to && calls.push([columns.start[i], columns.length[i], track, row, i]))
    );
    calls.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const nr = calls.length, buckets: number[] = [];
    for (const call of calls) {
      const bucket = call[1] < 2 ? 0 : Math.floor(Math.log2(call[1]));
      while (buckets.length <= bucket) buckets.push(0);
      buckets[bucket]++;
    }
    const percent = (p: number) => (nr ? calls[nr - Math.ceil((nr * p) / 100)][1] : 0);
    return { calls: nr, total: calls.reduce((sum, c) => sum + c[1], 0), p50: percent(50), p90: percent(90), p99: percent(99), buckets, longest: calls.slice(0, 10) };
  }

  // The calls of a range as tools/view/span_walk.c gives them.
  private walk(from: number, to: number, tracks: number[], walker: Walker) {
    from = Math.floor(from);
    to = Math.floor(to);
    this.tracks.forEach((rows, i) => {
      if (this.all.tracks[i].kind !== "calls" || (tracks.length && !tracks.includes(i))) return;
      const next = rows.map((r) => overlapping(r, from));
      const walkRow = (row: number, since: number, limit: number): number => {
        const r = rows[row];
        let sum = 0;
        while (row < rows.length && next[row] < r.start.length && r.start[next[row]] < limit) {
          const nr = next[row]++;
          walkRow(row + 1, Infinity, r.start[nr]);
          const start = Math.max(r.start[nr], from);
          const end = Math.min(r.start[nr] + r.length[nr], to);
          const length = Math.max(0, end - start);
          walker.enter(r.name[nr]);
          const beneath = walkRow(row + 1, start, end);
          walker.leave(r.name[nr], length, beneath, start);
          if (start >= since) sum += length;
        }
        return sum;
      };
      for (let row = rows.length - 1; row > 0; row--) {
        const around = rows[row - 1].start[next[row - 1]];
        walkRow(row, Infinity, around < to ? around : to);
      }
      for (let row = 0; row < rows.length; row++) walkRow(row, Infinity, to);
    });
  }
}

// The first span that ends behind `ts`, or has no length and is not before it.
function overlapping(row: Row, ts: number): number {
  const i = lowerBound(row.start, ts);
  return i > 0 && row.start[i - 1] + row.length[i - 1] > ts ? i - 1 : i;
}

// The events of a CPU or a thread.
function eventRow(tracks: Track[], events: Events, of: number): Row {
  const row: Row = { start: [], length: [], name: [], extra: [] }, { kind, file, id } = tracks[of];
  events.ts.forEach((ts, i) => {
    if (kind === "events" ? events.track[i] !== of : events.cpu[i] !== id || tracks[events.track[i]].file !== file) return;
    row.start.push(ts);
    row.length.push(0);
    row.name.push(events.name[i]);
    row.extra!.push(i);
  });
  return row;
}

// As span_row_query(): a span of a pixel or more is a block. Shorter ones that begin in one pixel
// are one block.
export function query(row: Row, from: number, to: number, pixel: number): number[] {
  const out: number[] = [];
  let at = -1; // the pixel of the last block in `out`; -1: that block is a single span
  for (let i = overlapping(row, from); i < row.start.length && row.start[i] < to; i++) {
    const start = row.start[i], length = row.length[i];
    const here = pixel && length < pixel ? Math.floor(Math.max(0, start - from) / pixel) : -1;
    const last = out.length - 7;
    if (here >= 0 && here === at) {
      out[last + 1] = start + length - out[last];
      out[last + 3]++;
      out[last + 4] += length;
      if (length > row.length[out[last + 5]]) {
        out[last + 2] = row.name[i];
        out[last + 5] = i;
        out[last + 6] = row.extra ? row.extra[i] : 0;
      }
    } else {
      out.push(start, length, row.name[i], 1, length, i, row.extra ? row.extra[i] : 0);
    }
    at = here;
  }
  return out;
}
