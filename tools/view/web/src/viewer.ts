// SPDX-License-Identifier: MIT
// The state of the page, and what each action of the user changes in it. The components show it.
import { SearchMode, SearchColumn, andFilter, parseFilter, quote, searchSteps } from "./filter";
import { Graph, Range, Span } from "./graph";
import { Drawn, isCpu } from "./layout";
import { PlotDefinition, plotTitle, makePlots } from "./plots";
import { openSession, saveSession } from "./session";
import { Search } from "./search";
import { Entry, Info, Source, isEvent } from "./source";
import { Path, Wakeups } from "./wakeups";

export type Tab = "chosen" | "table" | "flame" | "tree" | "diff" | "notes" | "source" | "sql";
type Dialog = "help" | "palette" | "tracks" | "newplot" | "filter" | "record" | "cut" | null;

interface MenuItem {
  title: string;
  run(): void;
}

export class Viewer {
  graph!: Graph;
  list: Source; // of the entries that the list shows
  listLength: number;
  range: Range;
  span: Span | null = null;
  entry = -1; // number of the chosen entry in the list; -1: none
  tab: Tab = "chosen";
  dialog: Dialog = null;
  menu: { x: number; y: number; items: MenuItem[] } | null = null;
  card: { span: Span; x: number; y: number } | null = null;
  marker: "a" | "b" = "a";
  area: Range | null = null;
  base: Range | null = null; // what `area` is compared with
  filter = { text: "", graph: false, list: true };
  searchInput = { text: "", column: "any" as SearchColumn, mode: "contains" as SearchMode };
  search: Search | null = null;
  found = "";
  busy = ""; // the action that is running, for the bar
  problem = "";
  plots: PlotDefinition[] = [];
  highlightedName = "";
  path: Path | null = null;
  dark = matchMedia("(prefers-color-scheme: dark)").matches;
  private wakeups: Wakeups;
  private historyTimer: ReturnType<typeof setTimeout> | undefined;
  detach = () => {}; // ends what goes on without the page

  constructor(readonly source: Source, readonly info: Info, readonly changed: () => void) {
    this.list = source;
    this.listLength = info.list;
    this.range = { from: 0, to: info.duration };
    this.whole = { from: 0, to: info.duration + 1 };
    this.wakeups = new Wakeups(source, info);
  }

  failed = (error: Error) => {
    this.problem = error.message;
    this.busy = "";
    this.changed();
  };

  // Run an action that takes time. The bar names it meanwhile; an error is shown.
  runTask(what: string, todo: () => Promise<void>) {
    this.busy = what;
    this.problem = "";
    this.changed();
    todo().then(() => {
      this.busy = "";
      this.changed();
    }, this.failed);
  }

  attach(canvas: HTMLCanvasElement) {
    this.graph = new Graph(canvas, this.source, this.info, {
      moved: (r) => this.moved(r),
      hovered: (span, _ts, x, y) => {
        this.card = span ? { span, x, y } : null;
        this.changed();
      },
      clicked: (span, ts) => this.clicked(span, ts),
      menu: (span, track, ts, x, y) => this.openMenu(span, track, ts, x, y),
      area: (r) => this.chooseArea(r),
      failed: this.failed,
      laidOut: this.changed,
    });
    const back = () => {
      const asked = /t=(-?\d+)-(\d+)/.exec(location.hash);
      if (asked) this.graph.show(Number(asked[1]), Number(asked[2]));
    };
    back();
    window.addEventListener("popstate", back);
    this.detach = () => {
      window.removeEventListener("popstate", back);
      clearTimeout(this.historyTimer);
      this.stopSearch();
    };
  }

  // The address has the range that is shown; the browser's back button goes to the range before it.
  private moved(r: Range) {
    this.range = r;
    const hash = `#t=${Math.round(r.from)}-${Math.round(r.to)}`;
    clearTimeout(this.historyTimer);
    this.historyTimer = setTimeout(() => location.hash !== hash && history.pushState(null, "", hash), 300);
    this.changed();
  }

  // -- choosing

  choose(s: Span | null, ts: number) {
    const g = this.graph;
    g.chosen = s;
    g.markers[this.marker] = s ? s.start : ts;
    g.arrows = [];
    g.path = [];
    this.path = null;
    this.span = s;
    this.tab = this.tab === "source" && s ? "source" : "chosen";
    g.redraw();
    this.changed();
    if (s && !this.info.reading) this.showWaker(s);
  }

  private track(i: number): Drawn {
    return this.graph.tracks[i];
  }

  // Of a state `woken`, or of one that ends with a wakeup: an arrow from the thread that woke this
  // one.
  private showWaker(s: Span) {
    const track = this.track(s.track), state = track.plot ? "" : this.info.names[s.name];
    if (track.kind !== "states" || (state !== "woken" && state !== "blocked")) return;
    this.wakeups.arrow(s.track, state === "woken" ? s.start : s.start + s.length).then((arrow) => {
      if (arrow && this.span === s) this.graph.arrows = [arrow];
      this.graph.redraw();
    }, this.failed);
  }

  // Choose a span of the graph, and find its entry in the list.
  clicked(s: Span | null, ts: number) {
    this.choose(s, ts);
    if (!this.info.reading) this.list.number(s ? s.start : ts).then((at) => this.pickAt(at, s), this.failed);
  }

  goTo(s: Span) {
    this.graph.layout.reveal(s.track);
    this.clicked(s, s.start);
    this.graph.reveal(s.start, s.track, s.row);
  }

  // Several entries may begin at the same time: choose the one of the span.
  private async pickAt(at: number, s: Span | null) {
    for (const [i, e] of s ? (await this.list.list(at, 64)).entries() : []) {
      if (e[0] !== s!.start) break;
      const track = this.track(s!.track);
      if (e[2] !== s!.name || (isEvent(e) ? !(track.kind === "cpu-events" ? e[6] === track.id : e[3] === s!.track) : e[3] !== s!.track || e[4] !== s!.row)) continue;
      this.entry = at + i;
      this.changed();
      return;
    }
    this.entry = Math.min(at, this.listLength - 1);
    this.changed();
  }

  chooseEntry(at: number, e: Entry) {
    const [start, length, name, track, row, which, cpu] = e;
    this.entry = at;
    this.choose({ track, row, start, length, name, count: 1, which, extra: isEvent(e) ? which : cpu }, start);
    this.graph.layout.reveal(track);
    this.graph.reveal(start, track, row);
  }

  chooseArea(r: Range | null) {
    this.area = r;
    this.graph.area = r;
    if (this.tab === "chosen" || this.tab === "notes" || this.tab === "source") this.tab = "table";
    this.graph.redraw();
    this.changed();
  }

  // Escape: close the dialog and the menu. Where none is open, clear what is chosen.
  escape() {
    const g = this.graph;
    if (this.dialog || this.menu) {
      this.dialog = this.menu = null;
      return this.changed();
    }
    g.chosen = g.highlighted = g.area = null;
    g.markers = { a: null, b: null };
    g.arrows = [];
    g.path = [];
    this.path = null;
    this.span = this.area = null;
    this.entry = -1;
    this.highlightedName = this.problem = "";
    g.redraw();
    this.changed();
  }

  // The range of the tables and flame graphs: the chosen one, or the whole recording.
  get shown(): Range {
    return this.area || this.whole;
  }
  readonly whole: Range;

  // -- moving

  zoom(factor: number) {
    const { from, to } = this.range, at = this.span ? this.span.start : (from + to) / 2;
    this.graph.zoom(factor, at >= from && at <= to ? at : (from + to) / 2);
  }

  // The time of the chosen span; null if it has no length.
  get chosen(): Range | null {
    return this.span && this.span.length ? { from: this.span.start, to: this.span.start + this.span.length } : null;
  }

  fit() {
    const s = this.area || this.chosen;
    if (s) this.graph.show(s.from - (s.to - s.from) * 0.05, s.to + (s.to - s.from) * 0.05);
  }

  async chooseBeside(by: number) {
    const next = this.span && (await this.graph.neighbour(this.span, by));
    if (next) this.goTo(next);
  }

  // The caller of the chosen call (`by` -1), or the first call that it made (1).
  async chooseDepth(by: number) {
    const s = this.span, line = s && this.graph.lines.find((l) => l.track === s.track && l.row === s.row + by);
    if (!s || !line) return;
    const around = { ...s, row: s.row + by, start: s.start + (by < 0 ? 1 : 0), length: 0 };
    const next = by < 0 ? await this.graph.neighbour(around, -1) : await this.graph.neighbour({ ...around, start: s.start - 1 }, 1);
    if (next && (by < 0 || next.start < s.start + s.length)) this.goTo(next);
  }

  // -- searching

  async find(backward: boolean) {
    const { text, column, mode } = this.searchInput;
    if (!text) return;
    try {
      const steps = searchSteps(text, column, mode, this.info.first);
      const search = new Search(this.list, this.listLength, steps, () => this.showProgress());
      if (this.search) this.search.stopped = true;
      this.search = search;
      this.found = "searching";
      this.changed();
      const counting = search.count(), list = this.list;
      const at = await search.next(this.entry < 0 ? (backward ? this.listLength : -1) : this.entry, backward);
      const entry = at >= 0 ? (await list.list(at, 1))[0] : undefined;
      if (list !== this.list) return; // a filter made another one
      if (entry) this.chooseEntry(at, entry);
      await counting;
      if (this.search !== search || list !== this.list) return;
      const before = at >= 0 ? await search.before(at) : 0;
      this.search = null;
      this.found = search.stopped ? `stopped: ${search.nr} so far` : !search.nr ? "none" : at < 0 ? `${backward ? "none before" : "none behind"} of ${search.nr}` : `${before + 1} of ${search.nr}`;
      this.changed();
    } catch (error) {
      this.search = null;
      this.found = "";
      this.failed(error as Error);
    }
  }

  private showProgress() {
    if (this.search && !this.search.counted) this.found = `${this.search.nr} so far, ${Math.round((100 * this.search.scanned) / this.listLength)} %`;
    this.changed();
  }

  stopSearch() {
    if (this.search) this.search.stopped = true;
  }

  // The next call of the same function, or the next event of the same name, on any track.
  async findSameName(backward: boolean) {
    const s = this.span;
    if (!s || this.track(s.track).plot) return;
    const search = new Search(this.list, this.listLength, `event eq ${this.info.names[s.name].split("\n")[0]}`, () => undefined);
    for (let at = this.entry, tries = 0; tries < 1000; tries++) {
      at = await search.next(at, backward);
      if (at < 0) return;
      const [e] = await this.list.list(at, 1);
      if (e[2] === s.name) return this.chooseEntry(at, e);
    }
  }

  // -- filters

  setFilter(text: string, graph = this.filter.graph, list = this.filter.list) {
    try {
      const steps = parseFilter(text, this.info.first), those = this.source.filtered(steps);
      this.stopSearch();
      this.search = null;
      this.filter = { text, graph, list };
      this.problem = "";
      this.graph.setSource(graph ? those : this.source);
      const shown = list ? those : this.source;
      this.runTask("filtering", async () => {
        const length = await shown.number(Number.MAX_SAFE_INTEGER);
        this.list = shown;
        this.listLength = length;
        this.entry = -1;
        this.found = "";
      });
    } catch (error) {
      this.failed(error as Error);
    }
  }

  addFilter(more: string) {
    const { text, graph, list } = this.filter;
    this.setFilter(andFilter(text, more), graph || !text, list);
  }

  // -- tracks

  hide(tracks: number[], hidden: boolean) {
    for (const i of tracks) hidden ? this.graph.layout.hidden.add(i) : this.graph.layout.hidden.delete(i);
    this.graph.layOut();
  }

  pin(track: number) {
    const { layout } = this.graph, at = layout.pinned.indexOf(track);
    if (at >= 0) layout.pinned.splice(at, 1);
    else layout.pinned.push(track);
    this.graph.layOut();
  }

  toggle(group: string) {
    const { closed } = this.graph.layout;
    if (!closed.delete(group)) closed.add(group);
    this.graph.layOut();
  }

  showTracks(words: string) {
    this.graph.layout.titleFilter = words;
    this.graph.scroll = 0;
    this.graph.layOut();
  }

  async addPlot(definition: PlotDefinition) {
    for (const plot of await makePlots(this.source, this.info, definition))
      this.graph.tracks.push({ kind: "plot", file: 0, id: 0, pid: 0, stack: 0, name: plot.title, rows: plot.rows.map((r) => r.start.length), plot });
    this.plots = [...this.plots, definition];
    this.graph.scroll = 0;
    this.graph.layOut();
  }

  removePlots() {
    const { graph, info } = this;
    this.span = graph.chosen = this.card = null;
    graph.layout.pinned = [];
    graph.layout.hidden = new Set();
    graph.tracks.length = info.tracks.length;
    this.plots = [];
    graph.layOut();
  }

  plot(definition: PlotDefinition) {
    this.dialog = null;
    this.runTask(`making ${plotTitle(definition)}`, () => this.addPlot(definition));
  }

  // -- highlighting and the critical path

  highlight(name: string | null) {
    this.highlightedName = name === null || this.highlightedName === name ? "" : name;
    this.graph.highlighted = this.highlightedName ? (n, track) => this.graph.nameOf(track, n) === this.highlightedName : null;
    this.graph.redraw();
    this.changed();
  }

  showCriticalPath() {
    const s = this.span;
    if (!s || !s.length) return this.failed(new Error("Choose a call or a state first: its critical path shows which thread waited for which in that time."));
    this.runTask("following wakeups", async () => {
      this.path = await this.wakeups.path(s.track, s.start, s.start + s.length);
      this.graph.path = this.path.pieces;
      this.graph.arrows = this.path.arrows;
      for (const { track } of this.path.pieces) this.graph.layout.reveal(track);
      this.tab = "chosen";
      this.graph.layOut();
    });
  }

  // -- notes, the session, the picture

  addNote(text: string) {
    const ts = this.span ? this.span.start : (this.range.from + this.range.to) / 2;
    this.graph.notes = [...this.graph.notes, { ts, text }].sort((a, b) => a.ts - b.ts);
    this.tab = "notes";
    this.graph.redraw();
    this.changed();
  }

  setDark(dark: boolean) {
    this.dark = dark;
    document.documentElement.dataset.dark = dark ? "1" : "0";
    this.graph.redraw();
    this.changed();
  }

  save() {
    const text = saveSession(this);
    if (this.info.session && this.source.save) this.runTask("saving", () => this.source.save!(text));
    else download("vestige-session.json", new Blob([text], { type: "application/json" }));
  }

  open(text: string) {
    this.runTask("opening the session", () => openSession(this, text));
  }

  savePicture() {
    document.querySelector("canvas")!.toBlob((blob) => blob && download("vestige.png", blob));
  }

  // -- menus

  openMenu(span: Span | null, track: number, ts: number, x: number, y: number) {
    this.card = null;
    this.menu = { x, y, items: this.menuOf(span, track, ts) };
    this.changed();
  }

  private menuOf(span: Span | null, track: number, ts: number): MenuItem[] {
    const t = track >= 0 ? this.track(track) : null, items: MenuItem[] = [], { layout } = this.graph;
    const add = (title: string, run: () => void) => items.push({ title, run });
    if (span && t && !t.plot && t.kind !== "cpu" && t.kind !== "states") {
      const name = this.info.names[span.name], short = name.length > 40 ? `${name.slice(0, 39)}…` : name;
      add(`Show only ${short}`, () => this.addFilter(`event == ${quote(name)}`));
      add(`Hide ${short}`, () => this.addFilter(`event != ${quote(name)}`));
      add(`Search ${short}`, () => {
        this.searchInput = { text: name, column: "event", mode: "is" };
        this.find(false);
      });
      if (t.kind === "calls") add(`Plot how long ${short} took`, () => this.plot({ kind: "heat", name }));
      add(`Highlight ${short}`, () => this.highlight(name));
    }
    if (t && !t.plot) {
      const pid = t.kind === "cpu" && span ? span.extra : isCpu(t) ? -1 : t.id, cpu = isCpu(t) ? t.id : t.kind === "states" && span ? span.extra : -1;
      if (pid >= 0) {
        add(`Show only thread ${pid}`, () => this.addFilter(`pid == ${pid}`));
        add(`Hide thread ${pid}`, () => this.addFilter(`pid != ${pid}`));
      }
      if (cpu >= 0) {
        add(`Show only CPU ${cpu}`, () => this.addFilter(`cpu == ${cpu}`));
        add(`Hide CPU ${cpu}`, () => this.addFilter(`cpu != ${cpu}`));
      }
    }
    if (span && span.length) {
      add("Zoom to it", () => this.graph.show(span.start - span.length * 0.1, span.start + span.length * 1.1));
      add("Choose its time", () => this.chooseArea({ from: span.start, to: span.start + span.length }));
    }
    if (span && span.length && t && (t.kind === "calls" || t.kind === "states"))
      add("Critical path", () => {
        this.choose(span, span.start);
        this.showCriticalPath();
      });
    if (t) {
      add(layout.pinned.includes(track) ? "Unpin this track" : "Pin this track", () => this.pin(track));
      add("Hide this track", () => this.hide([track], true));
    }
    if (this.filter.text) add("No filter", () => this.setFilter(""));
    for (const which of ["a", "b"] as const)
      add(`Marker ${which.toUpperCase()} here`, () => {
        this.graph.markers[which] = span ? span.start : ts;
        this.graph.redraw();
        this.changed();
      });
    return items;
  }

  entryMenu(at: number, e: Entry, x: number, y: number) {
    this.chooseEntry(at, e);
    this.openMenu(this.span, e[3], e[0], x, y);
  }
}

function download(name: string, blob: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
