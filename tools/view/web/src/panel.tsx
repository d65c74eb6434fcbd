// SPDX-License-Identifier: MIT
// The panel beside the list: tabs for the chosen span and for the chosen range.
import { ofTracks, useAnswer } from "./answer";
import { ChosenPanel } from "./chosen";
import { DiffPanel } from "./diff";
import { FlamePanel } from "./flame";
import { clockTime, duration } from "./format";
import { trackTitle } from "./layout";
import { NotesPanel } from "./notes";
import { SourcePanel } from "./sourcetext";
import { SqlPanel } from "./sql";
import { TablePanel } from "./table";
import { TreePanel } from "./tree";
import type { FlameRow } from "./source";
import type { Tab, Viewer } from "./viewer";

const TABS: [Tab, string][] = [
  ["chosen", "Chosen"], ["table", "Functions"], ["flame", "Flame graph"], ["tree", "Call tree"], ["diff", "Compare"], ["notes", "Notes"], ["sql", "SQL"], ["source", "Source"],
];

export function Panel({ v }: { v: Viewer }) {
  const { area, info, tab } = v;
  const panels: Record<Tab, () => preact.JSX.Element> = {
    chosen: () => <ChosenPanel v={v} />, table: () => <TablePanel v={v} />, flame: () => <FlamePanel v={v} />, tree: () => <TreePanel v={v} />,
    diff: () => <DiffPanel v={v} />, notes: () => <NotesPanel v={v} />, source: () => <SourcePanel v={v} />, sql: () => <SqlPanel v={v} />,
  };
  return (
    <div class="panel">
      <div class="tabs" role="tablist">
        {TABS.map(([t, title]) => (
          <button role="tab" aria-selected={tab === t} onClick={() => {
            v.tab = t;
            v.changed();
          }}>{title}</button>
        ))}
      </div>
      {area && (
        <p class="area">
          {duration(area.to - area.from)} from {clockTime(info.first, area.from)} <button onClick={() => v.chooseArea(null)}>Whole recording</button>
        </p>
      )}
      <div class="body" role="tabpanel" aria-label={TABS.find(([t]) => t === tab)![1]} tabIndex={0}>{panels[tab]()}</div>
    </div>
  );
}

// The numbers of the call tracks that are not hidden.
export function callTracks(v: Viewer): number[] {
  const { layout, tracks } = v.graph;
  return tracks.flatMap((t, i) => (t.kind === "calls" && !layout.hidden.has(i) && trackTitle(t).toLowerCase().includes(layout.titleFilter.toLowerCase()) ? [i] : []));
}

// The flame rows of the range, for the flame graph and the call tree.
export function useFlame(v: Viewer, offCpu: boolean): FlameRow[] {
  const { from, to } = v.shown, tracks = callTracks(v), source = v.filter.graph ? v.list : v.source;
  return useAnswer<FlameRow[]>([], () => ofTracks(tracks, (t) => source.flame(from, to, t, offCpu)), v.failed, [from, to, tracks.join(), offCpu, source]);
}
