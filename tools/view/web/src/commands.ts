// SPDX-License-Identifier: MIT
// All commands: one table for the keys, the palette and the help.
import { trackTitle } from "./layout";
import type { Viewer } from "./viewer";

export interface Command {
  title: string;
  keys: string[]; // as KeyboardEvent.key, letters in lower case; "ctrl+" and "shift+" before
  run(): void;
}

const SHOWN: Record<string, string> = { " ": "space", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", ContextMenu: "menu" };

export function keyTitle(key: string): string {
  const parts = key.split("+"), last = key.endsWith("+") ? "+" : parts[parts.length - 1];
  return [...parts.slice(0, key.endsWith("+") ? 0 : -1), SHOWN[last] || last].join("+");
}

export function commands(v: Viewer): Command[] {
  const g = v.graph, out: Command[] = [];
  const add = (title: string, keys: string[], run: () => void) => out.push({ title, keys, run });
  const dialog = (what: typeof v.dialog) => () => {
    v.dialog = v.dialog === what ? null : what;
    v.changed();
  };
  const tab = (what: typeof v.tab) => () => {
    v.tab = what;
    v.changed();
  };
  add("Zoom in", ["w", "+", "="], () => v.zoom(0.7));
  add("Zoom out", ["s", "-"], () => v.zoom(1.4));
  add("Go left", ["a", "ArrowLeft"], () => g.pan(-0.2));
  add("Go right", ["d", "ArrowRight"], () => g.pan(0.2));
  add("Scroll tracks up", ["ArrowUp"], () => g.scrollTo(g.scroll - 40));
  add("Scroll tracks down", ["ArrowDown"], () => g.scrollTo(g.scroll + 40));
  add("Show the whole recording", ["0"], () => g.show(0, v.info.duration));
  add("Zoom to what is chosen, or to the range", ["f"], () => v.fit());
  add("Next call of the same function", ["n"], () => v.findSameName(false));
  add("Previous call of the same function", ["p"], () => v.findSameName(true));
  add("Next in the same row", [".", "shift+ArrowRight"], () => v.chooseBeside(1));
  add("Previous in the same row", [",", "shift+ArrowLeft"], () => v.chooseBeside(-1));
  add("To the caller", ["shift+ArrowUp"], () => v.chooseDepth(-1));
  add("To the first call beneath", ["shift+ArrowDown"], () => v.chooseDepth(1));
  add("Menu of what is chosen", ["ContextMenu", "shift+F10"], () => v.openMenu(v.span, v.span ? v.span.track : -1, v.range.from, 300, 120));
  add("The next click sets the other marker", ["m"], () => {
    v.marker = v.marker === "a" ? "b" : "a";
    v.changed();
  });
  add("Choose the time between markers A and B", ["r"], () => {
    const { a, b } = g.markers;
    if (a !== null && b !== null && a !== b) v.chooseArea({ from: Math.min(a, b), to: Math.max(a, b) });
  });
  add("Critical path of what is chosen", ["c"], () => v.showCriticalPath());
  add("Search", ["/"], () => document.querySelector<HTMLInputElement>("#search")!.focus());
  add("Filter", ["\\"], () => document.querySelector<HTMLInputElement>("#filter")!.focus());
  add("Choose events, threads and CPUs to show", [], dialog("filter"));
  add("No filter", [], () => v.setFilter(""));
  add("Choose tracks", ["t"], dialog("tracks"));
  add("Add a plot", ["l"], dialog("newplot"));
  add("Add tracks of waits for locks", [], () => v.plot({ kind: "locks" }));
  add("Add tracks of the holders of locks", [], () => v.plot({ kind: "held" }));
  add("Group tracks by process, or not", ["g"], () => {
    g.layout.grouped = !g.layout.grouped;
    g.layOut();
  });
  add("What is chosen", ["1"], tab("chosen"));
  add("Functions of the range", ["2"], tab("table"));
  add("Flame graph of the range", ["3"], tab("flame"));
  add("Call tree of the range", ["4"], tab("tree"));
  add("Compare two ranges", ["5"], tab("diff"));
  add("Notes", ["6"], tab("notes"));
  add("SQL", ["7"], tab("sql"));
  add("Source of the chosen function", ["8"], tab("source"));
  add("Save the session", ["ctrl+s"], () => v.save());
  add("Open a session", ["ctrl+o"], () => document.querySelector<HTMLInputElement>("#session")!.click());
  add("Save the picture as PNG", [], () => v.savePicture());
  add("Compose a command that cuts the range out as a trace.dat", [], dialog("cut"));
  add("Compose a command that records", [], dialog("record"));
  add("Dark or light", [], () => v.setDark(!v.dark));
  add("Commands", ["ctrl+k", ":"], dialog("palette"));
  add("Help", ["?"], dialog("help"));
  return out;
}

// The entries of the palette: all commands, and "Go to" for each track.
export function paletteEntries(v: Viewer): Command[] {
  return [
    ...commands(v),
    ...v.graph.tracks.map((track, i): Command => ({
      title: `Go to ${trackTitle(track)}`, keys: [], run: () => {
        v.graph.layout.reveal(i);
        v.graph.layOut();
        v.graph.reveal((v.range.from + v.range.to) / 2, i, 0);
      },
    })),
  ];
}

export function keyOf(e: KeyboardEvent): string {
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
  const shift = e.shiftKey && e.key.length > 1;
  return `${e.ctrlKey || e.metaKey ? "ctrl+" : ""}${shift ? "shift+" : ""}${key}`;
}
