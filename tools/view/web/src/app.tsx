// SPDX-License-Identifier: MIT
// The page: bar, timeline, list, panel and dialogs; and the handling of keys.
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { Bar } from "./bar";
import { commands, keyOf } from "./commands";
import { Dialogs } from "./dialogs";
import { clockTime, duration } from "./format";
import type { Graph } from "./graph";
import { SCALE, isCpu, isEvents, trackTitle } from "./layout";
import { List } from "./list";
import { Menu } from "./menu";
import { Panel } from "./panel";
import type { Info, Source } from "./source";
import { Viewer } from "./viewer";

interface AppProps {
  source: Source;
  info: Info;
  session: string; // a saved session to open; "": none
  ready(viewer: Viewer): void;
}

export function App({ source, info, session, ready: ready }: AppProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pane = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const v = useMemo(() => new Viewer(source, info, () => redraw(0)), []);

  useEffect(() => {
    v.attach(canvas.current!);
    v.setDark(v.dark);
    ready(v);
    const watch = new ResizeObserver(() => {
      v.graph.resize(pane.current!.clientWidth, pane.current!.clientHeight);
      redraw(0);
    });
    watch.observe(pane.current!);
    if (session) v.open(session);
    const press = (e: KeyboardEvent) => onKey(v, e);
    window.addEventListener("keydown", press);
    return () => {
      watch.disconnect();
      v.detach();
      window.removeEventListener("keydown", press);
    };
  }, []);

  const g = v.graph as Graph | undefined, view = pane.current?.clientHeight || 0;
  return (
    <div class="page" onClick={() => v.menu && v.escape()}>
      {g && <Bar v={v} />}
      {v.problem && <p class="problem" role="alert">{v.problem}</p>}
      {notes(info).map((note) => <p class="note" role="note">{note}</p>)}
      <main class="timeline">
        <Labels v={v} />
        <div class="pane" ref={pane}>
          <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Timeline of ${info.tracks.length} tracks. ${v.span && g ? chosenText(v) : ""}`} />
        </div>
        <input class="scroll" type="range" aria-label="Scroll tracks" min={0} max={Math.max(0, g ? g.layout.height - view : 0)}
          value={g ? g.scroll : 0} onInput={(e) => g!.scrollTo(Number(e.currentTarget.value))} />
      </main>
      {v.card && <HoverCard v={v} />}
      {info.reading ? <p class="note" role="status">The recording is being read: the picture is coarse. The list, the tables and the search come when all is read.</p> : (
        <section class="below">
          <List v={v} source={v.list} length={v.listLength} chosen={v.entry} />
          {g && <Panel v={v} />}
        </section>
      )}
      {v.menu && <Menu v={v} />}
      {v.dialog && <Dialogs v={v} />}
    </div>
  );
}

function onKey(v: Viewer, e: KeyboardEvent) {
  if (e.key === "Escape") return v.escape();
  const typing = ["INPUT", "TEXTAREA", "SELECT"].includes((e.target as HTMLElement).tagName) && (e.target as HTMLInputElement).type !== "checkbox";
  const key = keyOf(e), todo = commands(v).find((c) => c.keys.includes(key));
  if (!todo || e.altKey || (typing && !key.startsWith("ctrl+"))) return;
  if (v.menu && ["ArrowUp", "ArrowDown"].includes(key)) return;
  e.preventDefault();
  todo.run();
}

// The chosen span, for a screen reader.
function chosenText(v: Viewer): string {
  const s = v.span!, track = v.graph.tracks[s.track];
  return `Chosen: ${v.graph.label(track, s.name, s.extra)}, ${trackTitle(track)}${s.length ? `, ${duration(s.length)}` : ""}.`;
}

// Notes on what the picture lacks: lost records, calls left out.
function notes(info: Info): string[] {
  const out: string[] = [];
  const lost = info.lost.reduce((sum, [, , nr]) => (nr < 0 ? sum : sum + nr), 0);
  if (info.lost.length) out.push(`Records were lost in ${info.lost.length} places${lost ? ` (at least ${lost})` : ""}: red lines. Counts and times are too low.`);
  if (info.tooDeep) out.push(`${info.tooDeep} calls were nested too deep to be shown.`);
  if (info.leftOut) out.push(`${info.leftOut} calls shorter than ${duration(info.shortest)} are left out to keep this page small. Tables and flame graphs are without them.`);
  if (info.leftEvents) out.push(`The last ${info.leftEvents} events are left out to keep this page small.`);
  return out;
}

interface Label {
  track: number;
  top: number;
  height: number;
  pinned: boolean;
}

function Labels({ v }: { v: Viewer }) {
  const g = v.graph as Graph | undefined;
  if (!g) return <div class="labels" />;
  const labels: Label[] = [];
  for (const line of g.lines) {
    const last = labels[labels.length - 1], top = g.y(line);
    if (last && last.track === line.track) last.height = top + line.height - last.top;
    else labels.push({ track: line.track, top, height: line.height, pinned: line.pinned });
  }
  const { groups, pinnedHeight } = g.layout, from = SCALE + pinnedHeight;
  const label = ({ track, top, height, pinned }: Label) => (
    <div class={`label${isCpu(g.tracks[track]) ? " cpu" : ""}${pinned ? " pinned" : ""}`} key={track} title={trackTitle(g.tracks[track])} style={{ top: `${top}px`, height: `${height}px` }}
      onContextMenu={(e) => {
        e.preventDefault();
        v.openMenu(null, track, v.range.from, e.clientX, e.clientY);
      }}>{trackTitle(g.tracks[track])}</div>
  );
  return (
    <div class="labels" role="group" aria-label="Tracks">
      {labels.filter((l) => !l.pinned && l.top + l.height > from && l.top < 5000).map(label)}
      {groups.filter((h) => h.top - g.scroll > from - 18).map((h) => (
        <button class="group" key={h.key} aria-expanded={!h.closed} style={{ top: `${h.top - g.scroll}px` }} onClick={() => v.toggle(h.key)}>
          {h.closed ? "▸" : "▾"} {h.title}{h.closed ? ` (${h.tracks})` : ""}
        </button>
      ))}
      <div class="above" style={{ height: `${from}px` }}>{labels.filter((l) => l.pinned).map(label)}</div>
    </div>
  );
}

function HoverCard({ v }: { v: Viewer }) {
  const { span, x, y } = v.card!, track = v.graph.tracks[span.track];
  return (
    <div class="card" style={{ left: `${Math.min(x + 12, innerWidth - 320)}px`, top: `${Math.min(y + 16, innerHeight - 80)}px` }}>
      <b>{v.graph.nameOf(track, span.name)}</b>
      {track.kind === "cpu" && `-${span.extra}`}
      {span.count > 1 && ` and ${span.count - 1} more`}
      <br />
      {trackTitle(track)}
      {track.kind === "states" && ` on CPU ${span.extra}`}
      <br />
      {!isEvents(track) && span.length ? duration(span.length) : span.count > 1 ? `${span.count} events in ${duration(span.length)}` : "event"} at {clockTime(v.info.first, span.start)}
    </div>
  );
}
