// SPDX-License-Identifier: MIT
// The chosen span: its properties, its critical path, how long all calls of its function took.
import { useAnswer } from "./answer";
import { clockTime, duration } from "./format";
import { isEvents, trackTitle } from "./layout";
import { plotTimes } from "./plots";
import type { FunctionTimes } from "./source";
import type { Viewer } from "./viewer";

export function ChosenPanel({ v }: { v: Viewer }) {
  const { span, info } = v;
  if (!span) return <p class="hint">Click a call or an event. Drag with Shift for a range.</p>;
  const track = v.graph.tracks[span.track];
  if (track.plot) return <PlotPanel v={v} />;
  const object = info.objects[span.name];
  const facts: [string, string][] = [
    [track.kind === "calls" ? "Function" : track.kind === "states" ? "State" : "Event", info.names[span.name]],
    ["Track", trackTitle(track)],
    ["Time", clockTime(info.first, span.start)],
  ];
  if (object) facts.push(["Object", object]);
  if (info.places[span.name]) facts.push(["Source", info.places[span.name]!]);
  if (span.length && !isEvents(track)) facts.push(["Length", duration(span.length)]);
  if (track.kind === "calls") facts.push(["Depth", String(span.row)]);
  if (track.kind === "cpu") facts.push(["Thread", String(span.extra)]);
  if (track.kind === "states" || (track.kind === "calls" && (span.extra | 0) >= 0)) facts.push(["CPU", String(span.extra)]);
  if (span.count > 1) facts.push(["Together", isEvents(track) ? `${span.count} events in ${duration(span.length)}: this is one of them` : `${span.count} spans, too short to be drawn apart: this is the longest one's name`]);
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
      {span.length > 0 && (track.kind === "calls" || track.kind === "states") && <p class="hint"><button onClick={() => v.showCriticalPath()}>Critical path</button></p>}
      {v.path && <PathPanel v={v} />}
      {track.kind === "calls" && <TimesPanel v={v} name={span.name} />}
    </>
  );
}

// The critical path: the time of the span by threads and states.
function PathPanel({ v }: { v: Viewer }) {
  const sums = new Map<string, number>(), { tracks } = v.graph;
  let all = 0;
  for (const { track, from, to, state } of v.path!.pieces) {
    const key = `${tracks[track].name}-${tracks[track].id} ${state}`;
    sums.set(key, (sums.get(key) || 0) + to - from);
    all += to - from;
  }
  return (
    <table class="functions path">
      <caption>Critical path: {duration(all)}</caption>
      <thead><tr><th scope="col">Thread and state</th><th scope="col">Time</th><th scope="col">%</th></tr></thead>
      <tbody>
        {[...sums].sort((a, b) => b[1] - a[1]).map(([key, ns]) => (
          <tr><td>{key}</td><td>{duration(ns)}</td><td>{((100 * ns) / all).toFixed(1)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

// A span of a plot: its properties, and how long the plot's spans are.
function PlotPanel({ v }: { v: Viewer }) {
  const span = v.span!, track = v.graph.tracks[span.track], { from, to } = v.shown, times = plotTimes(track.plot!, from, to);
  return (
    <>
      <dl class="facts">
        <dt>Track</dt><dd>{trackTitle(track)}</dd>
        <dt>Name</dt><dd>{track.plot!.names[span.name]}</dd>
        <dt>Time</dt><dd>{clockTime(v.info.first, span.start)}</dd>
        <dt>Length</dt><dd>{duration(span.length)}</dd>
      </dl>
      <p class="hint">{times.nr} of them: p50 {duration(times.p50)}, p90 {duration(times.p90)}, p99 {duration(times.p99)}, max {duration(times.max)}</p>
      <ol class="longest">
        {times.longest.map(({ row, i, start, length }) => (
          <li>
            <button onClick={() => v.goTo({ ...span, row, start, length, name: track.plot!.rows[row].name[i], count: 1, which: i })}>{duration(length)} at {clockTime(v.info.first, start)}</button>
          </li>
        ))}
      </ol>
    </>
  );
}

// How long all calls of a function took, with the longest ones as links.
function TimesPanel({ v, name }: { v: Viewer; name: number }) {
  const { info } = v, { from, to } = v.shown;
  const times = useAnswer<FunctionTimes | null>(null, () => v.source.function(name, from, to), v.failed, [name, from, to]);
  if (!times) return null;
  const most = Math.max(...times.buckets, 1), first = times.buckets.findIndex((n) => n > 0);
  return (
    <>
      <p class="hint">
        {times.calls} calls of {info.names[name]}{v.area ? " in the range" : ""}: p50 {duration(times.p50)}, p90 {duration(times.p90)}, p99 {duration(times.p99)}, max {duration(times.longest.length ? times.longest[0][1] : 0)}
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
            <button onClick={() => v.goTo({ track, row, start, length, name, count: 1, which, extra: -1 })}>
              {duration(length)} at {clockTime(info.first, start)}
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}
