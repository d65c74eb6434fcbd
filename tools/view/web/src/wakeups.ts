// SPDX-License-Identifier: MIT
// Wakeups: which thread woke which. The critical path of a span follows them.
import type { Arrow, Piece } from "./graph";
import { Entry, Info, LENGTH, NAME, START, Source, WORDS } from "./source";

interface State {
  start: number;
  end: number;
  name: string;
}

export interface Path {
  pieces: (Piece & { state: string })[];
  arrows: Arrow[];
}

const MAX_PIECES = 2000; // pieces of a path
const AT_ONCE = 64; // wakeups that are looked at

export class Wakeups {
  private wakes = new Map<number, Source>(); // events that woke a thread, by its tid
  private states = new Map<string, Promise<State[]>>();

  constructor(private source: Source, private info: Info) {}

  // The number of the states track of a track's thread; -1: states were not recorded.
  statesOf(track: number): number {
    const t = this.info.tracks[track];
    return this.info.tracks.findIndex((x) => x.kind === "states" && x.id === t.id && x.pid === t.pid && x.file === t.file);
  }

  // The last event that woke a track's thread, at `ts` or before: of the same file, since another
  // one may have a thread of the same number.
  async waker(track: number, ts: number): Promise<Entry | null> {
    const { id: tid, file } = this.info.tracks[track];
    if (!this.wakes.has(tid)) this.wakes.set(tid, this.source.filtered(`event glob sched:sched_wak*\n.pid eq ${tid}\nand`));
    const wakes = this.wakes.get(tid)!;
    for (let end = await wakes.number(ts + 1); end > 0; end -= AT_ONCE) {
      const at = Math.max(0, end - AT_ONCE), some = await wakes.list(at, end - at);
      const found = some.reverse().find((w) => this.info.tracks[w[3]].file === file);
      if (found) return found;
    }
    return null;
  }

  // The arrow from the waker to the time at which a thread was woken; null if the waker is not
  // known.
  async arrow(track: number, woken: number): Promise<Arrow | null> {
    const states = this.statesOf(track), by = await this.waker(track, woken);
    if (!by || states < 0) return null;
    const from = this.statesOf(by[3]);
    return { from: { track: from < 0 ? by[3] : from, ts: by[0] }, to: { track: states, ts: woken } };
  }

  private statesIn(track: number, from: number, to: number): Promise<State[]> {
    const key = `${track} ${from} ${to}`;
    if (!this.states.has(key))
      this.states.set(key, this.source.spans([[track, 0]], from, to, 0).then(([blocks]) => {
        const out: State[] = [];
        for (let i = 0; i < blocks.length; i += WORDS)
          out.push({ start: blocks[i + START], end: blocks[i + START] + blocks[i + LENGTH], name: this.info.names[blocks[i + NAME]] });
        return out;
      }));
    return this.states.get(key)!;
  }

  // The critical path of a thread from `from` to `to`: its time running and waiting for a CPU.
  // While it was blocked, the path goes on in the thread that woke it.
  async path(track: number, from: number, to: number): Promise<Path> {
    const out: Path = { pieces: [], arrows: [] };
    const first = this.statesOf(track);
    if (first < 0) throw new Error("The states of this thread are not recorded: record with -e sched.");
    await this.follow(out, first, from, to, []);
    out.pieces.sort((a, b) => a.from - b.from);
    return out;
  }

  private async follow(out: Path, track: number, from: number, to: number, above: number[]): Promise<void> {
    for (const { start, end, name } of (await this.statesIn(track, from, to)).reverse()) {
      const [a, b] = [Math.max(start, from), Math.min(end, to)];
      if (a >= b || out.pieces.length >= MAX_PIECES) continue;
      const by = name === "blocked" && end <= to ? await this.waker(track, end) : null;
      const next = by && by[0] > start ? this.statesOf(by[3]) : -1;
      if (by && next >= 0 && next !== track && !above.includes(next)) {
        out.arrows.push({ from: { track: next, ts: by[0] }, to: { track, ts: end } });
        await this.follow(out, next, a, Math.min(b, by[0]), [...above, track]);
      } else out.pieces.push({ track, from: a, to: b, state: name });
    }
  }
}
