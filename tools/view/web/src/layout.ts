// SPDX-License-Identifier: MIT
// Which tracks are shown, in which order, and where: pinned ones, made ones, CPUs, then processes.
import type { Made } from "./made";
import type { Info, Kind, Track } from "./source";

export interface Drawn extends Omit<Track, "kind"> {
  kind: Kind | "made";
  made?: Made;
}

export interface Line {
  track: number;
  row: number;
  top: number;
  height: number;
  pinned: boolean; // it does not scroll
}

// A group of tracks, which can be closed.
export interface Head {
  key: string;
  title: string;
  top: number;
  closed: boolean;
  tracks: number;
}

const HEIGHTS = { cpu: 18, "cpu-events": 13, states: 13, events: 13, calls: 16, made: 16 };
const GAP = 6; // between threads
const HEAD = 18;
export const SCALE = 24; // height of the scale of time
const TALL = 64; // a plot

export function isCpu(track: Drawn): boolean {
  return track.kind === "cpu" || track.kind === "cpu-events";
}

// Of events, which have no length.
export function isEvents(track: Drawn): boolean {
  return track.kind === "events" || track.kind === "cpu-events";
}

export function trackTitle(track: Drawn): string {
  if (track.made) return track.made.title;
  if (track.kind === "cpu") return `CPU ${track.id}`;
  if (track.kind === "cpu-events") return `CPU ${track.id} events`;
  const buffer = track.buffer ? ` of ${track.buffer}` : "";
  if (track.stack) return `${track.name}-${track.id} stack ${track.stack}${buffer}`;
  return `${track.name}-${track.id}${track.kind === "calls" ? "" : ` ${track.kind}`}${buffer}`;
}

// What a track is called in a saved session, which may be of another recording.
export function trackKey(track: Drawn): string {
  const key = [track.file, track.kind, track.id, track.stack, track.made ? track.made.title : ""].join(" ");
  return track.buffer ? `${key} ${track.buffer}` : key;
}

function vcpuKey(guest: number, cpu: number): string {
  return `vcpu ${guest} ${cpu}`;
}

export class Layout {
  lines: Line[] = [];
  heads: Head[] = [];
  hidden = new Set<number>(); // tracks
  pinned: number[] = [];
  closed = new Set<string>(); // groups
  words = ""; // what a title must have
  grouped = true;
  height = 0; // of all lines
  pinnedHeight = 0;

  constructor(private info: Info, readonly tracks: Drawn[]) {
    // threads of which only some events were recorded are not what the recording is about
    if (tracks.some((t) => t.kind === "calls" || t.kind === "states")) this.closed.add("others");
    this.arrange();
  }

  // The guest's CPU that a track shows, or that its thread runs: both are drawn together.
  private vcpu(track: Drawn) {
    for (const [guest, of] of this.info.hosts.entries()) {
      for (const [cpu, tid] of of ? of[1] : [])
        if (isCpu(track) ? track.file === guest && track.id === cpu : track.file === of![0] && track.id === tid) return { guest, cpu, tid, host: of![0] };
    }
    return null;
  }

  private group(track: Drawn, busy: Set<string>): [string, string] {
    const file = this.info.files.length > 1 ? `${this.info.files[track.file]}: ` : "";
    if (track.made) return ["made", "Plots"];
    const vcpu = this.vcpu(track);
    if (vcpu) return [vcpuKey(vcpu.guest, vcpu.cpu), `${this.info.files[vcpu.guest]}: CPU ${vcpu.cpu}, thread ${vcpu.tid} of ${this.info.files[vcpu.host]}`];
    if (isCpu(track)) return [`cpus ${track.file}`, `${file}CPUs`];
    const process = track.pid || track.id, key = `process ${track.file} ${process}`;
    if (!busy.has(key)) return ["others", "Other threads"];
    const main = this.info.tracks.find((t) => t.file === track.file && t.id === process) || track;
    return [key, `${file}${main.name} (process ${process})`];
  }

  arrange() {
    const shown = this.tracks.map((_, i) => i).filter((i) => !this.hidden.has(i) && trackTitle(this.tracks[i]).toLowerCase().includes(this.words.toLowerCase()));
    const busy = new Set(this.tracks.flatMap((t) => (t.kind === "calls" || t.kind === "states" ? [`process ${t.file} ${t.pid || t.id}`] : [])));
    // where nothing but events was recorded each thread is as good as another
    if (!busy.size) this.tracks.forEach((t) => busy.add(`process ${t.file} ${t.pid || t.id}`));
    // these come first, the others as their tracks do
    const groups = new Map<string, { title: string; tracks: number[] }>([["made", { title: "Plots", tracks: [] }]]);
    this.info.hosts.forEach((of, guest) => of && of[1].forEach(([cpu]) => groups.set(vcpuKey(guest, cpu), { title: "", tracks: [] })));
    for (const i of shown.filter((s) => !this.pinned.includes(s))) {
      const [key, title] = this.group(this.tracks[i], busy);
      if (!groups.has(key)) groups.set(key, { title, tracks: [] });
      Object.assign(groups.get(key)!, { title }).tracks.push(i);
    }
    const others = groups.get("others");
    if (others && groups.delete("others")) groups.set("others", others);
    this.lines = [];
    this.heads = [];
    let top = SCALE;
    const put = (i: number, pinned: boolean) => {
      const track = this.tracks[i], height = track.made && track.made.shape !== "spans" ? TALL : HEIGHTS[track.kind];
      track.rows.forEach((_, row) => {
        this.lines.push({ track: i, row, top, height, pinned });
        top += height;
      });
    };
    for (const i of this.pinned.filter((p) => shown.includes(p))) put(i, true);
    this.pinnedHeight = top - SCALE;
    for (const [key, { title, tracks }] of groups) {
      if (!tracks.length) continue;
      const closed = this.closed.has(key) && !this.words;
      if (this.grouped) {
        this.heads.push({ key, title, top, closed, tracks: tracks.length });
        top += HEAD;
      }
      if (this.grouped && closed) continue;
      tracks.forEach((i, n) => {
        const before = tracks[n - 1];
        if (n && (this.tracks[before].id !== this.tracks[i].id || this.tracks[i].made)) top += GAP;
        put(i, false);
      });
    }
    this.height = top + GAP;
  }

  // Where the group of a track is closed it is opened.
  open(track: number) {
    if (this.hidden.delete(track) || !this.lines.some((l) => l.track === track)) {
      this.words = "";
      this.closed.delete(this.groupKey(track));
      this.arrange();
    }
  }

  private groupKey(track: number): string {
    const saved = [this.closed, this.hidden] as const;
    this.closed = new Set();
    this.arrange();
    const line = this.lines.find((l) => l.track === track);
    const head = line && [...this.heads].reverse().find((h) => h.top < line.top);
    [this.closed, this.hidden] = saved;
    return head ? head.key : "";
  }
}
