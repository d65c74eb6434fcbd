// SPDX-License-Identifier: MIT
// What is chosen: a span, or an area with its table and flame graph.
import { useEffect, useState } from "preact/hooks";
import { COLOURS, clockTime, colourNumber, duration } from "./format";
import { Range, Span, trackTitle } from "./graph";
import type { FlameRow, Info, Source, TableRow } from "./source";

export function SpanPanel({ info, span }: { info: Info; span: Span | null }) {
  if (!span) return <p class="hint">Click a call or an event. Drag with Shift for a range.</p>;
  const track = info.tracks[span.track];
  const object = info.objects[span.name];
  const facts: [string, string][] = [
    [track.kind === "calls" ? "Function" : "Event", info.names[span.name]],
    ["Track", trackTitle(track)],
    ["Time", clockTime(info.first, span.start)],
  ];
  if (object) facts.push(["Object", object]);
  if (info.places[span.name]) facts.push(["Source", info.places[span.name]!]);
  if (span.length) facts.push(["Length", duration(span.length)]);
  if (track.kind === "calls") facts.push(["Depth", String(span.row)]);
  if (track.kind === "cpu") facts.push(["Thread", String(span.extra)]);
  if (track.kind === "states") facts.push(["CPU", String(span.extra)]);
  if (span.count > 1) facts.push(["Together", `${span.count} are too short to be shown apart: this is the longest's name`]);
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

const HEADS = ["Function", "Calls", "Total", "Self", "Min", "Max"];

interface AreaProps {
  source: Source;
  info: Info;
  area: Range;
  tracks: number[];
  light(name: number | null): void;
  failed(error: Error): void;
}

export function TablePanel({ source, info, area, tracks, light, failed }: AreaProps) {
  const [rows, setRows] = useState<TableRow[]>([]);
  const [by, setBy] = useState(3);
  useEffect(() => {
    source.table(area.from, area.to, tracks).then(setRows, failed);
  }, [area, tracks.join()]);
  const sorted = [...rows].sort((a, b) => (by ? b[by] - a[by] : info.names[a[0]].localeCompare(info.names[b[0]]))).slice(0, 500);
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
          <tr onClick={() => light(row[0])} key={row[0]}>
            <td title={info.names[row[0]]}>{info.names[row[0]]}</td>
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

interface Box {
  node: number;
  depth: number;
  left: number;
  width: number;
}

const FLAME_LINE = 18;

// Boxes of the flame graph, the widest first beneath each caller; what is too thin is left out.
function flameBoxes(rows: FlameRow[], root: number): Box[] {
  const children: number[][] = [];
  rows.forEach(([caller], i) => (children[caller] = children[caller] || []).push(i + 1));
  const total = (node: number) => (node ? rows[node - 1][3] : (children[0] || []).reduce((sum, i) => sum + rows[i - 1][3], 0));
  const boxes: Box[] = [];
  const all = total(root) || 1;
  const put = (node: number, depth: number, left: number) => {
    const width = total(node) / all;
    if (width < 0.001) return;
    boxes.push({ node, depth, left, width });
    (children[node] || []).sort((a, b) => total(b) - total(a)).forEach((child) => {
      put(child, depth + 1, left);
      left += total(child) / all;
    });
  };
  put(root, 0, 0);
  return boxes;
}

export function FlamePanel({ source, info, area, tracks, light, failed }: AreaProps) {
  const [rows, setRows] = useState<FlameRow[]>([]);
  const [root, setRoot] = useState(0);
  useEffect(() => {
    setRoot(0);
    source.flame(area.from, area.to, tracks).then(setRows, failed);
  }, [area, tracks.join()]);
  const boxes = flameBoxes(rows, root);
  const deepest = boxes.reduce((d, b) => Math.max(d, b.depth), 0);
  return (
    <div class="flame" style={{ height: `${(deepest + 1) * FLAME_LINE}px` }}>
      {boxes.map(({ node, depth, left, width }) => {
        const row = rows[node - 1];
        const name = node ? info.names[row[1]] : "all";
        const title = node ? `${name}: ${row[2]} calls, ${duration(row[3])}, self ${duration(row[4])}` : "all";
        return (
          <button class="box" key={node} title={title}
            style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * FLAME_LINE}px`, background: node ? COLOURS[colourNumber(row[1])] : "#ccc" }}
            onClick={() => {
              setRoot(node === root ? 0 : node);
              light(node ? row[1] : null);
            }}>
            {name}
          </button>
        );
      })}
    </div>
  );
}
