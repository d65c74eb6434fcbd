// SPDX-License-Identifier: MIT
// The search in the list. It goes in pieces, so that it can be stopped.
import type { Source } from "./source";

const CHUNK = 500_000; // entries of one request

export class Search {
  nr = 0; // matches so far
  scanned = 0; // entries that were looked at
  stopped = false;
  private counts: number[] = []; // of each piece

  constructor(private source: Source, private length: number, private steps: string, private progress: () => void) {}

  private find(chunk: number, from = chunk * CHUNK, to = (chunk + 1) * CHUNK) {
    return this.source.find(this.steps, Math.max(from, chunk * CHUNK), Math.min(to, (chunk + 1) * CHUNK, this.length));
  }

  async count(): Promise<void> {
    for (let chunk = 0; chunk * CHUNK < this.length && !this.stopped; chunk++) {
      const [nr] = await this.find(chunk);
      this.counts[chunk] = nr;
      this.nr += nr;
      this.scanned = Math.min(this.length, (chunk + 1) * CHUNK);
      this.progress();
    }
  }

  get counted(): boolean {
    return this.scanned >= this.length;
  }

  // The next match behind `at`, or the last one before it; -1: there is none, or it was stopped.
  async next(at: number, backward: boolean): Promise<number> {
    const last = Math.max(0, Math.floor((this.length - 1) / CHUNK));
    const from = backward ? Math.min(at - 1, this.length - 1) : at + 1;
    for (let chunk = Math.floor(from / CHUNK); chunk >= 0 && chunk <= last && !this.stopped; chunk += backward ? -1 : 1) {
      if (this.counts[chunk] === 0) continue;
      const [nr, first, end] = backward ? await this.find(chunk, undefined, at) : await this.find(chunk, at + 1);
      if (nr && !this.stopped) return backward ? end : first;
    }
    return -1;
  }

  // How many matches are before one.
  async before(at: number): Promise<number> {
    const chunk = Math.floor(at / CHUNK), here = await this.find(chunk, undefined, at);
    return this.counts.slice(0, chunk).reduce((a, b) => a + b, 0) + here[0];
  }
}
