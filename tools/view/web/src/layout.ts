// SPDX-License-Identifier: MIT
// Which tracks are shown, in which order, and where: pinned ones, plots, CPUs, then processes.
import type { Plot } from "./plots";
import type { Info, Kind, Track } from "./source";

// A track that is drawn: of the recording, or a plot that the user added.
export interface Drawn extends Omit<Track, "kind"> {
  kind: Kind | "plot";
  plot?: Plot;
}

// A row of a track at its place in the timeline.
export interface Line {
  track: number;
  row: number;
  top: number;
  height: number;
  pinned: boolean; // it does not scroll
}

// A group of tracks, which can be closed.
interface Group {
  key: string;
  title: string;
  top: number;
  closed: boolean;
  tracks: number; // how many it has
}

const HEIGHTS = { cpu: 18, "cpu-events": 13, states: 13, events: 13, calls: 16, plot: 16 };
const GAP = 6; // between threads
const GROUP_HEIGHT = 18;
export const SCALE = 24; // height of the scale of time
const PLOT_HEIGHT = 64; // a plot

export function isCpu(track: Drawn): boolean {
  return track.kind === "cpu" || track.kind === "cpu-events";
}

// Whether a track has events, which have no length.
export function isEvents(track: Drawn): boolean {
  return track.kind === "events" || track.kind === "cpu-events";
}

export function trackTitle(track: Drawn): string {
  if (track.plot) return track.plot.title;
  if (track.kind === "cpu") return `CPU ${track.id}`;
  if (track.kind === "cpu-events") return `CPU ${track.id} events`;
  const buffer = track.buffer ? ` of ${track.buffer}` : "";
  if (track.stack) return `${track.name}-${track.id} stack ${track.stack}${buffer}`;
  return `${track.name}-${track.id}${track.kind === "calls" ? "" : ` ${track.kind}`}${buffer}`;
}

// The name of a track in a saved session. Numbers would not do: a session may be opened with
// another recording.
export function trackKey(track: Drawn): string {
  const key = [track.file, track.kind, track.id, track.stack, track.plot ? track.plot.title : ""].join(" ");
  return track.buffer ? `${key} ${track.buffer}` : key;
}

function vcpuKey(guest: number, cpu: number): string {
  return `vcpu ${guest} ${cpu}`;
}

export class Layout {
  lines: Line[] = [];
  groups: Group[] = [];
  hidden = new Set<number>(); // tracks
  pinned: number[] = [];
  closed = new Set<string>(); // groups
  titleFilter = ""; // only tracks with this text in their title are shown
  grouped = true;
  height = 0; // of all lines
  pinnedHeight = 0;

  constructor(private info: Info, readonly tracks: Drawn[]) {
    // beside threads with calls or states, those with events alone are not what the recording is
    // about
    if (tracks.some((t) => t.kind === "calls" || t.kind === "states")) this.closed.add("others");
    this.arrange();
  }

  // The guest's CPU that a track shows, or that the track's thread runs: both are in one group.
  private vcpu(track: Drawn) {
    for (const [guest, of] of this.info.hosts.entries()) {
      for (const [cpu, tid] of of ? of[1] : [])
        if (isCpu(track) ? track.file === guest && track.id === cpu : track.file === of![0] && track.id === tid) return { guest, cpu, tid, host: of![0] };
    }
    return null;
  }

  private groupOf(track: Drawn, withCalls: Set<string>): [string, string] {
    const file = this.info.files.length > 1 ? `${this.info.files[track.file]}: ` : "";
    if (track.plot) return ["plots", "Plots"];
    const vcpu = this.vcpu(track);
    if (vcpu) return [vcpuKey(vcpu.guest, vcpu.cpu), `${this.info.files[vcpu.guest]}: CPU ${vcpu.cpu}, thread ${vcpu.tid} of ${this.info.files[vcpu.host]}`];
    if (isCpu(track)) return [`cpus ${track.file}`, `${file}CPUs`];
    const process = track.pid || track.id, key = `process ${track.file} ${process}`;
    if (!withCalls.has(key)) return ["others", "Other threads"];
    const main = this.info.tracks.find((t) => t.file === track.file && t.id === process) || track;
    return [key, `${file}${main.name} (process ${process})`];
  }

  arrange() {
    const shown = this.tracks.map((_, i) => i).filter((i) => !this.hidden.has(i) && trackTitle(this.tracks[i]).toLowerCase().includes(this.titleFilter.toLowerCase()));
    const withCalls = new Set(this.tracks.flatMap((t) => (t.kind === "calls" || t.kind === "states" ? [`process ${t.file} ${t.pid || t.id}`] : [])));
    // where nothing but events was recorded, no thread goes into "others"
    if (!withCalls.size) this.tracks.forEach((t) => withCalls.add(`process ${t.file} ${t.pid || t.id}`));
    // plots and guests' CPUs come first, the other groups in the order of their tracks
    const groups = new Map<string, { title: string; tracks: number[] }>([["plots", { title: "Plots", tracks: [] }]]);
    this.info.hosts.forEach((of, guest) => of && of[1].forEach(([cpu]) => groups.set(vcpuKey(guest, cpu), { title: "", tracks: [] })));
    for (const i of shown.filter((s) => !this.pinned.includes(s))) {
      const [key, title] = this.groupOf(this.tracks[i], withCalls);
      if (!groups.has(key)) groups.set(key, { title, tracks: [] });
      Object.assign(groups.get(key)!, { title }).tracks.push(i);
    }
    const others = groups.get("others");
    if (others && groups.delete("others")) groups.set("others", others);
    this.lines = [];
    this.groups = [];
    let top = SCALE;
    const put = (i: number, pinned: boolean) => {
      const track = this.tracks[i], height = track.plot && track.plot.shape !== "spans" ? PLOT_HEIGHT : HEIGHTS[track.kind];
      track.rows.forEach((_, row) => {
        this.lines.push({ track: i, row, top, height, pinned });
        top += height;
      });
    };
    for (const i of this.pinned.filter((p) => shown.includes(p))) put(i, true);
    this.pinnedHeight = top - SCALE;
    for (const [key, { title, tracks }] of groups) {
      if (!tracks.length) continue;
      const closed = this.closed.has(key) && !this.titleFilter;
      if (this.grouped) {
        this.groups.push({ key, title, top, closed, tracks: tracks.length });
        top += GROUP_HEIGHT;
      }
      if (this.grouped && closed) continue;
      tracks.forEach((i, n) => {
        const before = tracks[n - 1];
        if (n && (this.tracks[before].id !== this.tracks[i].id || this.tracks[i].plot)) top += GAP;
        put(i, false);
      });
    }
    this.height = top + GAP;
  }

  // Make a track visible: it is no longer hidden, and its group is opened.
  reveal(track: number) {
    if (this.hidden.delete(track) || !this.lines.some((l) => l.track === track)) {
      this.titleFilter = "";
      this.closed.delete(this.groupKey(track));
      this.arrange();
    }
  }

  private groupKey(track: number): string {
    const saved = [this.closed, this.hidden] as const;
    this.closed = new Set();
    this.arrange();
    const line = this.lines.find((l) => l.track === track);
    const group = line && [...this.groups].reverse().find((g) => g.top < line.top);
    [this.closed, this.hidden] = saved;
    return group ? group.key : "";
  }
}
