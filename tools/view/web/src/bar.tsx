// SPDX-License-Identifier: MIT
// The bar at the top: search, filter, tracks, markers, and other frequent actions.
import { useState } from "preact/hooks";
import { SearchMode, SEARCH_COLUMNS, SearchColumn } from "./filter";
import { clockTime, duration } from "./format";
import type { Viewer } from "./viewer";

const COLUMN_TITLES: Record<SearchColumn, string> = { any: "anywhere", event: "Event", info: "Info", task: "Task", pid: "PID", cpu: "CPU", latency: "Latency", expression: "expression" };

export function Bar({ v }: { v: Viewer }) {
  const g = v.graph, { a, b } = g.markers;
  const dialog = (what: typeof v.dialog) => () => {
    v.dialog = v.dialog === what ? null : what;
    v.changed();
  };
  return (
    <header class="bar">
      <h1 title={v.info.uname}>{v.info.command || v.info.path}</h1>
      <SearchBox v={v} />
      <FilterBox v={v} />
      <label>
        Tracks
        <input type="search" value={g.layout.titleFilter} onInput={(e) => v.showTracks(e.currentTarget.value)} aria-label="Show only tracks with this text" />
      </label>
      <button onClick={dialog("tracks")} aria-expanded={v.dialog === "tracks"}>Tracks…</button>
      <button onClick={dialog("newplot")} aria-expanded={v.dialog === "newplot"}>Add plot…</button>
      <button onClick={() => v.zoom(0.7)} aria-label="Zoom in">+</button>
      <button onClick={() => v.zoom(1.4)} aria-label="Zoom out">−</button>
      <button onClick={() => g.show(0, v.info.duration)}>All</button>
      <button onClick={() => { v.marker = v.marker === "a" ? "b" : "a"; v.changed(); }} aria-label="Which marker a click sets">Marker {v.marker.toUpperCase()}</button>
      <button onClick={() => v.save()}>Save</button>
      <label class="file">Open<input id="session" type="file" accept="application/json,.json" onChange={(e) => {
        const [file] = Array.from(e.currentTarget.files || []);
        e.currentTarget.value = "";
        if (file) file.text().then((text) => v.open(text), v.failed);
      }} /></label>
      <button onClick={dialog("palette")} aria-label="Commands">⌘</button>
      <button onClick={() => v.setDark(!v.dark)}>{v.dark ? "Light" : "Dark"}</button>
      <button onClick={dialog("help")} aria-expanded={v.dialog === "help"}>Help</button>
      <output class="marks">
        {a !== null && `A ${clockTime(v.info.first, a)} `}
        {b !== null && `B ${clockTime(v.info.first, b)} `}
        {a !== null && b !== null && `B − A ${duration(b - a)}`}
      </output>
      <output class="busy" aria-live="polite">{v.busy && `${v.busy} …`}</output>
      {v.info.live && <span class="live">live</span>}
      <span class="shown">{duration(v.range.to - v.range.from)} shown</span>
    </header>
  );
}

function SearchBox({ v }: { v: Viewer }) {
  const { searchInput: input } = v;
  const set = (what: Partial<typeof input>) => {
    v.searchInput = { ...input, ...what };
    v.found = "";
    v.changed();
  };
  return (
    <span class="box" role="search">
      <label for="search">Search</label>
      <select aria-label="Column to search" value={input.column} onChange={(e) => set({ column: e.currentTarget.value as SearchColumn })}>
        {SEARCH_COLUMNS.map((c) => <option value={c}>{COLUMN_TITLES[c]}</option>)}
      </select>
      <select aria-label="How it is to match" value={input.mode} disabled={input.column === "expression"} onChange={(e) => set({ mode: e.currentTarget.value as SearchMode })}>
        <option value="contains">contains</option>
        <option value="is">full match</option>
        <option value="lacks">does not have</option>
      </select>
      <input id="search" type="search" value={input.text} onInput={(e) => set({ text: e.currentTarget.value })}
        onKeyDown={(e) => e.key === "Enter" && v.find(e.shiftKey)} aria-label="Search names and texts" />
      <button onClick={() => v.find(true)} aria-label="Previous match">◀</button>
      <button onClick={() => v.find(false)} aria-label="Next match">▶</button>
      {v.search && <button onClick={() => v.stopSearch()}>Stop</button>}
      <output class="found" aria-live="polite">{v.found}</output>
    </span>
  );
}

function FilterBox({ v }: { v: Viewer }) {
  const [text, setText] = useState<string | null>(null); // typed and not yet used
  const { filter } = v;
  const use = () => {
    if (text !== null) v.setFilter(text, filter.graph, filter.list);
    setText(null);
  };
  return (
    <span class="box">
      <label for="filter">Filter</label>
      <input id="filter" class="wide" type="search" value={text ?? filter.text} placeholder="event == sched_switch && prev_pid == 1"
        aria-label="Filter expression" onInput={(e) => setText(e.currentTarget.value)} onBlur={use}
        onKeyDown={(e) => e.key === "Enter" && use()} onSearch={use} />
      <label><input type="checkbox" checked={filter.graph} onChange={(e) => v.setFilter(text ?? filter.text, e.currentTarget.checked, filter.list)} />graph</label>
      <label><input type="checkbox" checked={filter.list} onChange={(e) => v.setFilter(text ?? filter.text, filter.graph, e.currentTarget.checked)} />list</label>
      <button onClick={() => { v.dialog = v.dialog === "filter" ? null : "filter"; v.changed(); }} aria-label="Choose events, threads and CPUs">…</button>
    </span>
  );
}
