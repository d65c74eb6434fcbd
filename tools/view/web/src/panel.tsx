// SPDX-License-Identifier: MIT
// What is chosen: a span, or an area with its table and flame graph.
import { useEffect, useState } from "preact/hooks";
import { COLOURS, clockTime, colourNumber, duration } from "./format";
import { Range, Span, trackTitle } from "./graph";
import type { FlameRow, FunctionTimes, Info, Source, SqlAnswer, TableRow } from "./source";

interface SpanProps {
  source: Source;
  info: Info;
  span: Span | null;
  go(span: Span): void;
  failed(error: Error): void;
}

export function SpanPanel({ source, info, span, go, failed }: SpanProps) {
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
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      {track.kind === "calls" && <TimesPanel source={source} info={info} name={span.name} go={go} failed={failed} />}
    </>
  );
}

// How long all calls of a function took, with the longest ones as links.
function TimesPanel({ source, info, name, go, failed }: { source: Source; info: Info; name: number; go(span: Span): void; failed(error: Error): void }) {
  const [times, setTimes] = useState<FunctionTimes | null>(null);
  useEffect(() => {
    source.function(name).then(setTimes, failed);
  }, [name]);
  if (!times) return null;
  const most = Math.max(...times.buckets, 1), first = times.buckets.findIndex((n) => n > 0);
  return (
    <>
      <p class="hint">
        {times.calls} calls of {info.names[name]}: p50 {duration(times.p50)}, p90 {duration(times.p90)}, p99 {duration(times.p99)}
      </p>
      <table class="buckets" aria-label="How many calls took how long">
        {times.buckets.map((nr, i) =>
          i < first ? null : (
            <tr>
              <th scope="row">{duration(i ? 2 ** i : 0)}</th>
              <td>{nr}</td>
              <td class="bar"><div style={{ width: `${(nr / most) * 100}%` }} /></td>
            </tr>
          )
        )}
      </table>
      <p class="hint">The longest:</p>
      <ol class="longest">
        {times.longest.map(([start, length, track, row, which]) => (
          <li>
            <button onClick={() => go({ track, row, start, length, name, count: 1, which, extra: 0 })}>
              {duration(length)} at {clockTime(info.first, start)}
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}

const EXAMPLE = "SELECT name, count(*) AS calls, percentile(duration, 99) AS p99, max(duration)\nFROM slices GROUP BY name ORDER BY 4 DESC LIMIT 20";

// A question to the recording; a row with a `start` leads there.
export function SqlPanel({ source, info, goTo }: { source: Source; info: Info; goTo(from: number, length: number): void }) {
  const [question, setQuestion] = useState(EXAMPLE);
  const [answer, setAnswer] = useState<SqlAnswer | null>(null);
  const [busy, setBusy] = useState(false);
  if (!source.sql) return <p class="hint">This page has no server. Ask the recording with vestige sql FILE 'SELECT ...'.</p>;
  const run = async () => {
    setBusy(true);
    try {
      setAnswer(await source.sql!(question));
    } catch (error) {
      setAnswer({ error: (error as Error).message, names: [], rows: [], cut: false });
    }
    setBusy(false);
  };
  const start = answer && !answer.error ? answer.names.indexOf("start") : -1, length = answer && !answer.error ? answer.names.indexOf("duration") : -1;
  const go = (row: (string | null)[]) => {
    if (start >= 0 && /^\d+$/.test(row[start] || "")) goTo(Number(BigInt(row[start]!) - BigInt(info.first)), Number(row[length] || 0));
  };
  return (
    <div class="sql">
      <textarea aria-label="SELECT of the tables slices, events, states, cpus, tracks, functions" rows={3} value={question}
        onInput={(e) => setQuestion(e.currentTarget.value)} onKeyDown={(e) => e.ctrlKey && e.key === "Enter" && run()} />
      <button onClick={run} disabled={busy}>Run</button>
      {answer && answer.error && <p class="hint" role="alert">{answer.error}</p>}
      {answer && !answer.error && (
        <table class="functions">
          <thead><tr>{answer.names.map((name) => <th scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {answer.rows.map((row) => <tr onClick={() => go(row)}>{row.map((cell) => <td title={cell || ""}>{cell}</td>)}</tr>)}
          </tbody>
        </table>
      )}
      {answer && answer.cut && <p class="hint">There are more rows.</p>}
    </div>
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
