// SPDX-License-Identifier: MIT
// The session: the user's arrangement as a text that can be saved and opened again.
import { trackKey } from "./layout";
import type { PlotDefinition } from "./plots";
import type { Viewer } from "./viewer";

interface Session {
  vestige: "view session";
  version: 1;
  path: string; // of the recording
  first?: string; // its first time, from which the times here count
  range: { from: number; to: number };
  markers: { a: number | null; b: number | null };
  area: { from: number; to: number } | null;
  hidden: string[]; // keys of tracks
  pinned: string[];
  closed: string[]; // groups
  grouped: boolean;
  filter: { text: string; graph: boolean; list: boolean };
  plots: PlotDefinition[];
  notes: { ts: number; text: string }[];
  dark: boolean;
}

export function saveSession(v: Viewer): string {
  const { graph, info } = v, { layout } = graph;
  const keys = (tracks: Iterable<number>) => [...tracks].map((i) => trackKey(graph.tracks[i]));
  const session: Session = {
    vestige: "view session", version: 1, path: info.path, first: info.first, range: graph.range, markers: graph.markers, area: graph.area,
    hidden: keys(layout.hidden), pinned: keys(layout.pinned), closed: [...layout.closed], grouped: layout.grouped,
    filter: v.filter, plots: v.plots, notes: graph.notes, dark: v.dark,
  };
  return JSON.stringify(session, null, 1);
}

function isTime(n: unknown): n is number {
  return typeof n === "number" && isFinite(n);
}

// Throws an Error where the text is no session.
function readSession(text: string): Session {
  let s: Session;
  try {
    s = JSON.parse(text);
  } catch {
    throw new Error("This file is no session of vestige view.");
  }
  if (!s || s.vestige !== "view session" || !s.range || !isTime(s.range.from) || !isTime(s.range.to)) throw new Error("This file is no session of vestige view.");
  const lists = [s.hidden, s.pinned, s.closed, s.plots, s.notes];
  if (lists.some((list) => list !== undefined && !Array.isArray(list))) throw new Error("This file is no session of vestige view.");
  if (s.version !== 1) throw new Error(`This session is of a newer vestige (version ${s.version}).`);
  return s;
}

export async function openSession(v: Viewer, text: string): Promise<void> {
  const s = readSession(text), { graph } = v, { layout } = graph;
  // another part of the same recording begins at another time
  const by = s.path === v.info.path && /^\d+$/.test(s.first || "") ? Number(BigInt(s.first!) - BigInt(v.info.first)) : 0;
  const lacks: string[] = [];
  v.setDark(!!s.dark);
  v.removePlots();
  for (const plot of s.plots || [])
    await v.addPlot(plot).catch((e: Error) => {
      lacks.push(e.message);
      v.plots = [...v.plots, plot]; // the next Save keeps it
    });
  const numbers = (keys: string[]) => (keys || []).map((key) => graph.tracks.findIndex((t) => trackKey(t) === key)).filter((i) => i >= 0);
  layout.hidden = new Set(numbers(s.hidden));
  layout.pinned = numbers(s.pinned);
  layout.closed = new Set(s.closed || []);
  layout.grouped = s.grouped !== false;
  graph.markers = { a: isTime(s.markers?.a) ? s.markers.a + by : null, b: isTime(s.markers?.b) ? s.markers.b + by : null };
  v.area = graph.area = s.area && isTime(s.area.from) && isTime(s.area.to) ? { from: s.area.from + by, to: s.area.to + by } : null;
  graph.notes = (s.notes || []).filter((n) => isTime(n?.ts)).map((n) => ({ ts: n.ts + by, text: String(n.text) }));
  if (s.filter) v.setFilter(String(s.filter.text), !!s.filter.graph, !!s.filter.list);
  graph.layOut();
  graph.show(s.range.from + by, s.range.to + by);
  v.changed();
  if (lacks.length) throw new Error(lacks.join(" "));
}
