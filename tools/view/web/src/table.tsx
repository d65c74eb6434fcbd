// SPDX-License-Identifier: MIT
// The functions of a range, with their times.
import { useState } from "preact/hooks";
import { ofTracks, useAnswer } from "./answer";
import { duration } from "./format";
import { callTracks } from "./panel";
import type { TableRow } from "./source";
import type { Viewer } from "./viewer";

const HEADS = ["Function", "Calls", "Total", "Self", "Min", "Max"];

export function TablePanel({ v }: { v: Viewer }) {
  const { names } = v.info, { from, to } = v.shown, tracks = callTracks(v);
  const rows = useAnswer<TableRow[]>([], () => ofTracks(tracks, (t) => v.source.table(from, to, t)), v.failed, [from, to, tracks.join()]);
  const [by, setBy] = useState(3);
  const sorted = [...rows].sort((a, b) => (by ? b[by] - a[by] : names[a[0]].localeCompare(names[b[0]]))).slice(0, 500);
  return (
    <table class="functions">
      <thead>
        <tr>
          {HEADS.map((head, i) => (
            <th scope="col" aria-sort={by === i ? (i ? "descending" : "ascending") : "none"}>
              <button onClick={() => setBy(i)}>{head}</button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {sorted.map((row) => (
          <tr onClick={() => v.highlight(names[row[0]])} class={v.highlightedName === names[row[0]] ? "lit" : ""} key={row[0]}>
            <td title={names[row[0]]}><button>{names[row[0]]}</button></td>
            <td>{row[1]}</td>
            {row.slice(2).map((ns) => (
              <td>{duration(ns)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
