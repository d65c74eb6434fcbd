// SPDX-License-Identifier: MIT
// The page: tool bar, timeline, list and panel, and the keys.
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { clockTime, duration } from "./format";
import { Graph, Range, SCALE, Span, isCpu, trackTitle } from "./graph";
import { List } from "./list";
import { FlamePanel, SpanPanel, SqlPanel, TablePanel } from "./panel";
import type { Entry, Info, Source } from "./source";

const KEYS: [string, string][] = [
  ["W, S or + and -", "zoom in and out"],
  ["A, D or arrows", "go left and right"],
  ["0", "the whole recording"],
  ["F", "zoom to what is chosen, or to the range"],
  ["N, P", "next and previous call of the same function"],
  ["M", "which marker the next click sets: A or B"],
  ["/", "search"],
  ["Escape", "nothing is chosen"],
  ["?", "this help"],
];

interface Card {
  span: Span;
  x: number;
  y: number;
}

export function App({ source, info }: { source: Source; info: Info }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pane = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const graph = useRef<Graph | null>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [range, setRange] = useState<Range>({ from: 0, to: info.duration });
  const [card, setCard] = useState<Card | null>(null);
  const [span, setSpan] = useState<Span | null>(null);
  const [entry, setEntry] = useState(-1);
  const [area, setArea] = useState<Range | null>(null);
  const [tab, setTab] = useState<"chosen" | "table" | "flame" | "sql">("chosen");
  const [marker, setMarker] = useState<"a" | "b">("a");
  const [text, setText] = useState("");
  const [found, setFound] = useState("");
  const [problem, setProblem] = useState("");
  const [help, setHelp] = useState(false);
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const [filter, setFilter] = useState("");
  const failed = (error: Error) => setProblem(error.message);

  useEffect(() => {
    document.documentElement.dataset.dark = dark ? "1" : "0";
    graph.current?.want();
  }, [dark]);

  useEffect(() => {
    const g = new Graph(canvas.current!, source, info, {
      moved: (r) => {
        setRange(r);
        history.replaceState(null, "", `#t=${Math.round(r.from)}-${Math.round(r.to)}`);
      },
      pointed: (s, _ts, x, y) => setCard(s ? { span: s, x, y } : null),
      clicked: (s, ts) => clicked.current(s, ts),
      area: (r) => {
        setArea(r);
        setTab("table");
      },
      failed,
      laidOut: () => redraw(0),
    });
    graph.current = g;
    // for tests: what is on the screen
    (window as unknown as { vestige: unknown }).vestige = { graph: g, source, info };
    const watch = new ResizeObserver(() => {
      g.resize(pane.current!.clientWidth, pane.current!.clientHeight);
      redraw(0);
    });
    watch.observe(pane.current!);
    const asked = /t=(-?\d+)-(\d+)/.exec(location.hash);
    if (asked) g.show(Number(asked[1]), Number(asked[2]));
    return () => watch.disconnect();
  }, []);

  const choose = (s: Span | null, ts: number) => {
    const g = graph.current!;
    g.chosen = s;
    g.markers[marker] = s ? s.start : ts;
    setSpan(s);
    setTab("chosen");
    g.want();
  };
  // the number in the list is asked for when a span of the graph is chosen
  const clicked = useRef<(s: Span | null, ts: number) => void>(() => undefined);
  clicked.current = (s, ts) => {
    choose(s, ts);
    source.number(s ? s.start : ts).then((at) => pickAt(at, s), failed);
  };
  const pickAt = async (at: number, s: Span | null) => {
    // of what begins at once, the entry that was clicked
    for (const [i, e] of (await source.list(at, 64)).entries()) {
      if (!s || (e[0] === s.start && e[2] === s.name && e[6] === undefined && e[3] === s.track && e[4] === s.row) ||
          (e[6] !== undefined && e[5] === s.extra && !s.length && e[0] === s.start)) {
        setEntry(at + i);
        return;
      }
    }
    setEntry(at);
  };
  const chooseEntry = (at: number, e: Entry) => {
    const [start, length, name, track, row, which, , tid] = e;
    const isCall = tid === undefined;
    const t = isCall ? track : info.tracks.findIndex((x) => x.kind === "events" && x.id === tid);
    setEntry(at);
    choose({ track: t, row: isCall ? row : 0, start, length, name, count: 1, which, extra: isCall ? 0 : which }, start);
    graph.current!.reveal(start, t, isCall ? row : 0);
  };

  const goTo = (s: Span) => {
    clicked.current(s, s.start);
    graph.current!.reveal(s.start, s.track, s.row);
  };

  const find = async (backward: boolean, what = text) => {
    if (!what) return;
    try {
      const answer = await source.find(what, entry < 0 ? (backward ? info.list : -1) : entry, backward);
      setFound(answer.nr ? `${answer.at < 0 ? (backward ? "none before" : "none behind") : answer.before + 1} of ${answer.nr}` : "none");
      if (answer.at < 0) return;
      const [e] = await source.list(answer.at, 1);
      chooseEntry(answer.at, e);
    } catch (error) {
      failed(error as Error);
    }
  };

  // The next call of the same function, on any track.
  const same = async (backward: boolean) => {
    if (!span) return;
    const name = info.names[span.name];
    let at = entry;
    for (let tries = 0; tries < 1000; tries++) {
      const answer = await source.find(name, at, backward);
      if (answer.at < 0) return;
      const [e] = await source.list(answer.at, 1);
      if (e[2] === span.name) return chooseEntry(answer.at, e);
      at = answer.at;
    }
  };

  const light = (name: number | null) => {
    graph.current!.lit = graph.current!.lit === name ? null : name;
    graph.current!.want();
  };

  const fit = () => {
    const g = graph.current!, s = area || (span && span.length ? { from: span.start, to: span.start + span.length } : null);
    if (s) g.show(s.from - (s.to - s.from) * 0.05, s.to + (s.to - s.from) * 0.05);
  };

  const nothing = () => {
    const g = graph.current!;
    g.chosen = g.lit = g.area = null;
    g.markers = { a: null, b: null };
    setSpan(null);
    setArea(null);
    setEntry(-1);
    setHelp(false);
    setProblem("");
    g.want();
  };

  const keys = useRef<(e: KeyboardEvent) => void>(() => undefined);
  keys.current = (e) => {
    const g = graph.current!, middle = span ? span.start : (range.from + range.to) / 2;
    if (e.key === "Escape") return nothing();
    if (["INPUT", "TEXTAREA"].includes((e.target as HTMLElement).tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
    const act: Record<string, () => void> = {
      w: () => g.zoom(0.7, middle), "+": () => g.zoom(0.7, middle), "=": () => g.zoom(0.7, middle),
      s: () => g.zoom(1.4, middle), "-": () => g.zoom(1.4, middle),
      a: () => g.pan(-0.2), ArrowLeft: () => g.pan(-0.2), d: () => g.pan(0.2), ArrowRight: () => g.pan(0.2),
      ArrowUp: () => g.scrollTo(g.scroll - 40), ArrowDown: () => g.scrollTo(g.scroll + 40),
      "0": () => g.show(0, info.duration), f: fit, n: () => same(false), p: () => same(true),
      m: () => setMarker(marker === "a" ? "b" : "a"), "/": () => search.current!.focus(), "?": () => setHelp(!help),
    };
    const todo = act[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!todo) return;
    e.preventDefault();
    todo();
  };
  useEffect(() => {
    const press = (e: KeyboardEvent) => keys.current(e);
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);

  const show = (words: string) => {
    const g = graph.current!;
    setFilter(words);
    g.hidden = new Set(info.tracks.flatMap((t, i) => (trackTitle(t).toLowerCase().includes(words.toLowerCase()) ? [] : [i])));
    g.layOut();
    g.scrollTo(0);
  };

  const g = graph.current;
  const labels = useMemo(() => (g ? labelsOf(g, info) : []), [g && g.lines]);
  const { a, b } = g ? g.markers : { a: null, b: null };
  const tracks = g ? info.tracks.flatMap((t, i) => (t.kind === "calls" && !g.hidden.has(i) ? [i] : [])) : [];
  return (
    <div class="page">
      <header class="bar">
        <h1 title={info.uname}>{info.command || info.path}</h1>
        <label>
          Search
          <input ref={search} type="search" value={text} onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && find(e.shiftKey)} aria-label="Search names and texts" />
        </label>
        <button onClick={() => find(true)} aria-label="Previous match">◀</button>
        <button onClick={() => find(false)} aria-label="Next match">▶</button>
        <output class="found" aria-live="polite">{found}</output>
        <label>
          Tracks
          <input type="search" value={filter} onInput={(e) => show(e.currentTarget.value)} aria-label="Show only tracks with this text" />
        </label>
        <button onClick={() => g!.zoom(0.7, (range.from + range.to) / 2)} aria-label="Zoom in">+</button>
        <button onClick={() => g!.zoom(1.4, (range.from + range.to) / 2)} aria-label="Zoom out">−</button>
        <button onClick={() => g!.show(0, info.duration)}>All</button>
        <button onClick={() => setMarker(marker === "a" ? "b" : "a")} aria-label="Which marker a click sets">Marker {marker.toUpperCase()}</button>
        <button onClick={() => setDark(!dark)}>{dark ? "Light" : "Dark"}</button>
        <button onClick={() => setHelp(!help)} aria-expanded={help}>Help</button>
        <span class="marks">
          {a !== null && `A ${clockTime(info.first, a)} `}
          {b !== null && `B ${clockTime(info.first, b)} `}
          {a !== null && b !== null && `B − A ${duration(b - a)}`}
        </span>
        <span class="shown">{duration(range.to - range.from)} shown</span>
      </header>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {notes(info).map((note) => <p class="note" role="note">{note}</p>)}
      {help && (
        <dl class="help">
          {KEYS.map(([key, what]) => (
            <>
              <dt>{key}</dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      )}
      <main class="timeline">
        <div class="labels" aria-label="Tracks">
          {labels.map(({ track, top, height, title }) => (
            <div class={isCpu(info.tracks[track]) ? "label cpu" : "label"} key={track} title={title}
              style={{ top: `${top - g!.scroll}px`, height: `${height}px` }}>{title}</div>
          ))}
        </div>
        <div class="pane" ref={pane}>
          <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Timeline of ${info.tracks.length} tracks`} />
        </div>
        <input class="scroll" type="range" aria-label="Scroll tracks" min={0} max={Math.max(0, g ? g.height - (pane.current?.clientHeight || 0) : 0)}
          value={g ? g.scroll : 0} onInput={(e) => g!.scrollTo(Number(e.currentTarget.value))} />
      </main>
      {card && <HoverCard info={info} card={card} />}
      <section class="below">
        <List source={source} info={info} chosen={entry} reveal={entry} choose={chooseEntry} failed={failed} />
        <div class="panel">
          <div class="tabs" role="tablist">
            {(["chosen", "table", "flame", "sql"] as const).map((t) => (
              <button role="tab" aria-selected={tab === t} onClick={() => setTab(t)}>{{ chosen: "Chosen", table: "Functions", flame: "Flame graph", sql: "SQL" }[t]}</button>
            ))}
            {area && <span>{duration(area.to - area.from)} from {clockTime(info.first, area.from)}</span>}
          </div>
          <div class="body" role="tabpanel">
            {tab === "chosen" && <SpanPanel source={source} info={info} span={span} go={goTo} failed={failed} />}
            {tab === "table" && <TablePanel source={source} info={info} area={area || everything(info)} tracks={tracks} light={light} failed={failed} />}
            {tab === "flame" && <FlamePanel source={source} info={info} area={area || everything(info)} tracks={tracks} light={light} failed={failed} />}
            {tab === "sql" && <SqlPanel source={source} info={info} goTo={(from, length) => g!.show(from - Math.max(length * 0.1, 500), from + Math.max(length * 1.1, 500))} />}
          </div>
        </div>
      </section>
    </div>
  );
}

const wholes = new WeakMap<Info, Range>();

function everything(info: Info): Range {
  if (!wholes.has(info)) wholes.set(info, { from: 0, to: info.duration + 1 });
  return wholes.get(info)!;
}

// What the picture does not show.
function notes(info: Info): string[] {
  const out: string[] = [];
  const lost = info.lost.reduce((sum, [, , nr]) => (nr < 0 ? sum : sum + nr), 0);
  if (info.lost.length) out.push(`Records were lost in ${info.lost.length} places${lost ? ` (at least ${lost})` : ""}: red lines. Counts and times are too low.`);
  if (info.tooDeep) out.push(`${info.tooDeep} calls were nested too deep to be shown.`);
  if (info.leftOut) out.push(`${info.leftOut} calls shorter than ${duration(info.shortest)} are left out, so that this page stays small. Tables and flame graphs are without them.`);
  if (info.leftEvents) out.push(`The last ${info.leftEvents} events are left out, so that this page stays small.`);
  return out;
}

interface Label {
  track: number;
  top: number;
  height: number;
  title: string;
}

function labelsOf(g: Graph, info: Info): Label[] {
  const out: Label[] = [];
  for (const line of g.lines) {
    const last = out[out.length - 1];
    if (last && last.track === line.track) last.height = line.top + line.height - last.top;
    else out.push({ track: line.track, top: line.top, height: line.height, title: trackTitle(info.tracks[line.track]) });
  }
  return out.filter((l) => l.top + l.height > SCALE);
}

function HoverCard({ info, card }: { info: Info; card: Card }) {
  const { span } = card, track = info.tracks[span.track];
  const left = Math.min(card.x + 12, innerWidth - 320);
  return (
    <div class="card" style={{ left: `${left}px`, top: `${Math.min(card.y + 16, innerHeight - 80)}px` }}>
      <b>{info.names[span.name]}</b>
      {track.kind === "cpu" && `-${span.extra}`}
      {span.count > 1 && ` and ${span.count - 1} more`}
      <br />
      {trackTitle(track)}
      {track.kind === "states" && ` on CPU ${span.extra}`}
      <br />
      {span.length ? duration(span.length) : "event"} at {clockTime(info.first, span.start)}
    </div>
  );
}
