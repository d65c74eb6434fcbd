// SPDX-License-Identifier: MIT
// The timeline: one canvas for all tracks. A row is drawn as one line of pixels, which is stretched
// to the row's height. That costs a tenth of drawing a rectangle for each span.
import { COLOURS, PIXELS, colourNumber, tick } from "./format";
import { Drawn, Layout, Line, SCALE } from "./layout";
import { query } from "./local";
import { drawHeat, drawValues } from "./plotdraw";
import { COUNT, EXTRA, Info, LENGTH, NAME, START, Source, WHICH, WORDS } from "./source";

export interface Range {
  from: number;
  to: number;
}

// A span that was clicked, or that is under the pointer.
export interface Span {
  track: number;
  row: number;
  start: number;
  length: number;
  name: number;
  count: number;
  which: number;
  extra: number;
}

// An arrow from a thread that woke another one to the thread that was woken.
export interface Arrow {
  from: { track: number; ts: number };
  to: { track: number; ts: number };
}

// A piece of a critical path.
export interface Piece {
  track: number;
  from: number;
  to: number;
}

interface GraphEvents {
  moved(range: Range): void;
  hovered(span: Span | null, ts: number, x: number, y: number): void;
  clicked(span: Span | null, ts: number): void;
  menu(span: Span | null, track: number, ts: number, x: number, y: number): void;
  area(range: Range | null): void;
  failed(error: Error): void;
  laidOut(): void;
}

const STATES = ["running", "woken", "preempted", "blocked"];
const MIN_NS = 10; // the shortest range
const GREEN = "#1a9a3c", RED = "#d23030", PATH = "#e07b00";

export class Graph {
  range: Range;
  tracks: Drawn[];
  layout: Layout;
  markers: { a: number | null; b: number | null } = { a: null, b: null };
  area: Range | null = null;
  chosen: Span | null = null;
  highlighted: ((name: number, track: Drawn) => boolean) | null = null; // null: all spans; else the others are drawn pale
  arrows: Arrow[] = [];
  path: Piece[] = [];
  notes: { ts: number; text: string }[] = [];
  scroll = 0;
  frames = 0; // drawn so far
  private width = 0;
  private view = 0;
  private ratio = 1;
  private request: { key: string } | null = null;
  private loaded: { from: number; to: number; pixel: number; rows: Map<string, ArrayLike<number>>; key: string } | null = null;
  private redrawPending = false;
  private pointer: number | null = null;
  private raster: ImageData | null = null;
  private strip = document.createElement("canvas");
  private states: number[];

  constructor(private canvas: HTMLCanvasElement, private source: Source, readonly info: Info, private events: GraphEvents) {
    this.range = { from: 0, to: Math.max(info.duration, MIN_NS) };
    this.states = STATES.map((s) => info.names.findIndex((n, i) => n === s && info.objects[i] === null));
    this.tracks = [...info.tracks];
    this.layout = new Layout(info, this.tracks);
    this.listen();
  }

  get lines(): Line[] {
    return this.layout.lines;
  }

  // Place all rows again: the choice or the order of the tracks has changed.
  layOut() {
    this.layout.arrange();
    this.scrollTo(this.scroll);
  }

  // Show the spans of another source, as after a change of the filter.
  setSource(source: Source) {
    this.source = source;
    this.loaded = null;
    this.request = null;
    this.redraw();
  }

  resize(width: number, height: number) {
    this.ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.view = height;
    this.canvas.width = Math.max(1, Math.round(width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(height * this.ratio));
    this.raster = null;
    this.redraw();
  }

  // Show a range; its ends are kept within the recording and apart.
  show(from: number, to: number) {
    const length = Math.min(Math.max(to - from, MIN_NS), Math.max(this.info.duration * 1.1, MIN_NS));
    const margin = this.info.duration * 0.05;
    from = Math.min(Math.max(from, -margin), this.info.duration + margin - length);
    this.range = { from, to: from + length };
    this.events.moved(this.range);
    this.redraw();
  }

  zoom(factor: number, at: number) {
    this.show(at - (at - this.range.from) * factor, at + (this.range.to - at) * factor);
  }

  pan(part: number) {
    const by = (this.range.to - this.range.from) * part;
    this.show(this.range.from + by, this.range.to + by);
  }

  // Scroll until a time, and a row if one is named, are on the screen.
  reveal(ts: number, track?: number, row?: number) {
    const { from, to } = this.range;
    if (ts < from || ts > to) this.show(ts - (to - from) / 2, ts + (to - from) / 2);
    const line = this.lines.find((l) => l.track === track && l.row === row);
    if (line && !line.pinned && (line.top < this.scroll + SCALE + this.layout.pinnedHeight || line.top + line.height > this.scroll + this.view))
      this.scrollTo(line.top - this.view / 2);
    this.redraw();
  }

  scrollTo(top: number) {
    this.scroll = Math.max(0, Math.min(top, this.layout.height - this.view));
    this.events.laidOut();
    this.redraw();
  }

  // Draw with the browser's next frame.
  redraw() {
    if (this.redrawPending) return;
    this.redrawPending = true;
    requestAnimationFrame(() => {
      this.redrawPending = false;
      this.fetch();
      this.draw();
    });
  }

  x(ts: number): number {
    return ((ts - this.range.from) / (this.range.to - this.range.from)) * this.width;
  }

  ts(x: number): number {
    return this.range.from + (x / this.width) * (this.range.to - this.range.from);
  }

  // The top of a line on the canvas, in pixels.
  y(line: Line): number {
    return line.pinned ? line.top : line.top - this.scroll;
  }

  private visible(pinned: boolean): Line[] {
    const from = this.scroll + this.layout.pinnedHeight;
    return this.lines.filter((l) => l.pinned === pinned && (pinned || (l.top + l.height > from && l.top < this.scroll + this.view)));
  }

  // Request the spans on the screen and half a screen to each side; one request at a time.
  private fetch() {
    if (this.request || !this.width) return;
    const { from, to } = this.range, half = (to - from) / 2;
    const pixel = (to - from) / (this.width * this.ratio);
    const rows = [...this.visible(true), ...this.visible(false)].filter((l) => !this.tracks[l.track].plot).map((l): [number, number] => [l.track, l.row]);
    const a = this.loaded;
    if (a && from >= a.from && to <= a.to && Math.abs(a.pixel - pixel) < pixel * 0.05 && rows.every(([t, r]) => a.rows.has(`${t}.${r}`)))
      return;
    const request = { key: `${from} ${to}` };
    this.request = request;
    const begin = Math.max(0, from - half), end = to + half;
    this.source.spans(rows, begin, end, pixel).then(
      (answer) => {
        if (this.request !== request) return; // the source was replaced meanwhile
        this.loaded = { from: from - half, to: end, pixel, key: request.key, rows: new Map(rows.map(([t, r], i) => [`${t}.${r}`, answer[i]])) };
        this.request = null;
        this.redraw();
      },
      (error) => {
        if (this.request === request) this.request = null;
        this.events.failed(error);
      }
    );
  }

  // Has everything been loaded and drawn?
  settled(): boolean {
    return !this.request && !this.redrawPending;
  }

  private blocks(line: Line): ArrayLike<number> | undefined {
    const { plot } = this.tracks[line.track];
    if (!plot) return this.loaded?.rows.get(`${line.track}.${line.row}`);
    const { from, to } = this.range;
    return query(plot.rows[line.row], from, to, (to - from) / (this.width * this.ratio));
  }

  private colour(track: Drawn, blocks: ArrayLike<number>, i: number): number {
    if (track.kind === "cpu") return colourNumber(blocks[i + EXTRA]);
    if (track.kind === "states") return blocks[i + NAME] === this.states[0] ? colourNumber(blocks[i + EXTRA]) : -1;
    return colourNumber(blocks[i + NAME]);
  }

  private draw() {
    const g = this.canvas.getContext("2d")!;
    const style = getComputedStyle(this.canvas);
    const dark = style.getPropertyValue("--dark").trim() === "1";
    const ink = style.getPropertyValue("--ink").trim() || "#000", grey = style.getPropertyValue("--line").trim() || "#ccc";
    const paper = style.getPropertyValue("--paper").trim() || "#fff", soft = style.getPropertyValue("--soft").trim() || "#eee";
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = paper;
    g.fillRect(0, 0, this.width, this.view);
    for (const group of this.layout.groups) {
      g.fillStyle = soft;
      g.fillRect(0, group.top - this.scroll, this.width, 17);
    }
    this.drawScale(g, ink, grey);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    for (const pinned of [false, true]) {
      const top = SCALE + (pinned ? 0 : this.layout.pinnedHeight);
      g.save();
      g.beginPath();
      g.rect(0, top, this.width, (pinned ? SCALE + this.layout.pinnedHeight : this.view) - top);
      g.clip();
      for (const line of this.visible(pinned)) this.drawLine(g, line, dark, ink);
      this.drawLost(g);
      this.drawPath(g, pinned);
      g.restore();
    }
    this.drawArrows(g, ink);
    if (this.layout.pinnedHeight) {
      g.fillStyle = ink;
      g.fillRect(0, SCALE + this.layout.pinnedHeight - 1, this.width, 1);
    }
    this.drawMarks(g, ink, paper);
    this.frames++;
  }

  private drawScale(g: CanvasRenderingContext2D, ink: string, grey: string) {
    const { from, to } = this.range;
    const about = ((to - from) / this.width) * 110, power = 10 ** Math.floor(Math.log10(about));
    const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= about)!);
    g.fillStyle = ink;
    g.strokeStyle = grey;
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    g.beginPath();
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      g.moveTo(x, SCALE - 6);
      g.lineTo(x, this.view);
      g.fillText(tick(t, step), x + 3, SCALE / 2);
    }
    g.stroke();
  }

  private drawLine(g: CanvasRenderingContext2D, line: Line, dark: boolean, ink: string) {
    const track = this.tracks[line.track], top = this.y(line), height = line.height - 1;
    if (track.plot && track.plot.shape !== "spans") {
      const draw = track.plot.shape === "values" ? drawValues : drawHeat;
      draw(g, track.plot, { from: this.range.from, to: this.range.to, width: this.width, top, height }, ink);
      return;
    }
    const blocks = this.blocks(line);
    if (!blocks) return;
    const wide = this.canvas.width;
    if (!this.raster || this.raster.width !== wide) {
      this.raster = new ImageData(wide, 1);
      this.strip.width = wide;
      this.strip.height = 1;
    }
    const pixels = new Uint32Array(this.raster.data.buffer);
    const scale = wide / (this.range.to - this.range.from);
    const texts: [number, number, number][] = [];
    const hollow: [number, number, string][] = [];
    pixels.fill(0);
    for (let i = 0; i < blocks.length; i += WORDS) {
      const x0 = (blocks[i + START] - this.range.from) * scale, x1 = x0 + blocks[i + LENGTH] * scale;
      if (x1 < 0 || x0 > wide) continue;
      const left = Math.max(0, Math.floor(x0)), right = Math.min(wide, Math.max(left + 1, Math.floor(x1)));
      const colour = this.colour(track, blocks, i);
      if (colour < 0) {
        const name = blocks[i + NAME];
        if (name === this.states[1] || name === this.states[2])
          hollow.push([left / this.ratio, (right - left) / this.ratio, name === this.states[1] ? GREEN : RED]);
        continue;
      }
      let pixel = PIXELS[colour];
      if (this.highlighted && !this.highlighted(blocks[i + NAME], track)) pixel = (pixel & 0xffffff) | 0x38000000;
      pixels.fill(pixel, left, right);
      // a gap between calls that are side by side
      if (right - left > 3 && blocks[i + COUNT] === 1) pixels[right - 1] = (pixel & 0xffffff) | 0x60000000;
      if (right - left > 24 * this.ratio && track.kind !== "events" && track.kind !== "cpu-events")
        texts.push([left / this.ratio, right / this.ratio, i]);
    }
    this.strip.getContext("2d")!.putImageData(this.raster, 0, 0);
    g.imageSmoothingEnabled = false;
    g.drawImage(this.strip, 0, 0, wide, 1, 0, top, this.width, height);
    g.fillStyle = "#101418";
    for (const [left, right, i] of texts) {
      const room = right - left - 10, text = this.label(track, blocks[i + NAME], blocks[i + EXTRA]);
      const chars = Math.floor(room / 6);
      if (chars < 2) continue;
      g.fillText(text.length > chars ? text.slice(0, chars - 1) + "…" : text, left + 5, top + height / 2 + 0.5, room);
    }
    for (const [left, w, colour] of hollow) {
      g.strokeStyle = colour;
      g.strokeRect(left + 0.5, top + 1.5, Math.max(0, w - 1), height - 3);
    }
    const c = this.chosen;
    if (c && c.track === line.track && c.row === line.row) {
      g.strokeStyle = dark ? "#fff" : "#000";
      g.lineWidth = 2;
      g.strokeRect(this.x(c.start), top, Math.max(2, this.x(c.start + c.length) - this.x(c.start)), height);
      g.lineWidth = 1;
    }
  }

  nameOf(track: Drawn, name: number): string {
    return (track.plot ? track.plot.names : this.info.names)[name];
  }

  label(track: Drawn, nameNumber: number, extra: number): string {
    const name = this.nameOf(track, nameNumber);
    if (track.kind === "cpu") return `${name}-${extra}`;
    if (track.kind === "states") return `${name} on CPU ${extra}`;
    return name;
  }

  // Lost records: a red line at the time of each gap, and a box in the row of the CPU's events.
  private drawLost(g: CanvasRenderingContext2D) {
    g.strokeStyle = g.fillStyle = RED;
    g.setLineDash([3, 3]);
    g.beginPath();
    for (const [ts, cpu] of this.info.lost) {
      const x = Math.round(this.x(ts)) + 0.5;
      if (x < 0 || x > this.width) continue;
      g.moveTo(x, SCALE);
      g.lineTo(x, this.view);
      for (const line of this.lines) {
        const track = this.tracks[line.track];
        if (track.kind === "cpu-events" && track.id === cpu) g.fillRect(x - 4, this.y(line), 8, line.height - 1);
      }
    }
    g.stroke();
    g.setLineDash([]);
  }

  // The first line of a track, to which arrows lead. Undefined if the track is not shown.
  private threadLine(track: number): Line | undefined {
    return this.lines.find((l) => l.track === track && l.row === 0);
  }

  // The critical path: a bar beneath the states of its threads.
  private drawPath(g: CanvasRenderingContext2D, pinned: boolean) {
    g.fillStyle = PATH;
    for (const piece of this.path) {
      const line = this.threadLine(piece.track);
      if (line && line.pinned === pinned) g.fillRect(this.x(piece.from), this.y(line) + line.height - 5, Math.max(1, this.x(piece.to) - this.x(piece.from)), 4);
    }
  }

  private drawArrows(g: CanvasRenderingContext2D, ink: string) {
    g.save();
    g.beginPath();
    g.rect(0, SCALE, this.width, this.view - SCALE);
    g.clip();
    g.strokeStyle = g.fillStyle = ink;
    for (const { from, to } of this.arrows) {
      const a = this.threadLine(from.track), b = this.threadLine(to.track);
      if (!a || !b) continue;
      const [x0, y0, x1, y1] = [this.x(from.ts), this.y(a) + a.height / 2, this.x(to.ts), this.y(b) + b.height / 2];
      const down = y1 > y0 ? 1 : -1;
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + 12, y0, x1 - 12, y1 - down * 14, x1, y1 - down * 5);
      g.stroke();
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1 - 4, y1 - down * 7);
      g.lineTo(x1 + 4, y1 - down * 7);
      g.fill();
    }
    g.restore();
  }

  private drawMarks(g: CanvasRenderingContext2D, ink: string, paper: string) {
    if (this.area) {
      const x = this.x(this.area.from);
      g.fillStyle = "rgba(60,120,220,0.18)";
      g.fillRect(x, SCALE, this.x(this.area.to) - x, this.view - SCALE);
    }
    for (const [at, colour, name] of [[this.markers.a, COLOURS[9], "A"], [this.markers.b, COLOURS[2], "B"], [this.pointer, ink, ""]] as const) {
      if (at === null) continue;
      const x = Math.round(this.x(at)) + 0.5;
      g.strokeStyle = colour;
      g.lineWidth = name ? 2 : 1;
      g.beginPath();
      g.moveTo(x, name ? 0 : SCALE);
      g.lineTo(x, this.view);
      g.stroke();
      g.lineWidth = 1;
      if (!name) continue;
      g.fillStyle = colour;
      g.fillRect(x, 0, 14, 14);
      g.fillStyle = "#000";
      g.fillText(name, x + 3, 8);
    }
    for (const { ts, text } of this.notes) {
      const x = this.x(ts), width = Math.min(160, g.measureText(text).width + 8);
      if (x < -width || x > this.width) continue;
      g.fillStyle = PATH;
      g.fillRect(x, SCALE - 8, 1, this.view);
      g.fillRect(x, SCALE - 8, width, 14);
      g.fillStyle = paper === "#fff" ? "#000" : "#101418";
      g.fillText(text, x + 4, SCALE - 1, width - 8);
    }
  }

  // The line at a height on the canvas.
  lineAt(y: number): Line | undefined {
    const pinned = y < SCALE + this.layout.pinnedHeight;
    return y < SCALE ? undefined : this.lines.find((l) => l.pinned === pinned && y >= this.y(l) && y < this.y(l) + l.height);
  }

  // The nearest span within 3 pixels of a point.
  spanAt(x: number, y: number): Span | null {
    const line = this.lineAt(y), blocks = line && this.blocks(line);
    if (!line || !blocks) return null;
    let best = -1, near = 3;
    for (let i = 0; i < blocks.length; i += WORDS) {
      const x0 = this.x(blocks[i + START]), x1 = this.x(blocks[i + START] + blocks[i + LENGTH]);
      const away = x < x0 ? x0 - x : x > x1 ? x - x1 : 0;
      if (away < near) {
        best = i;
        near = away;
      }
    }
    if (best < 0) return null;
    return { track: line.track, row: line.row, start: blocks[best + START], length: blocks[best + LENGTH], name: blocks[best + NAME], count: blocks[best + COUNT], which: blocks[best + WHICH], extra: blocks[best + EXTRA] };
  }

  // The next (`by` 1) or previous (-1) span of the same row. Spans too short for the screen count,
  // too.
  async neighbour(span: Span, by: number): Promise<Span | null> {
    const { plot } = this.tracks[span.track], end = span.start + span.length;
    for (let reach = Math.max(1000, span.length * 4); ; reach *= 16) {
      const from = by > 0 ? end : Math.max(0, span.start - reach), to = by > 0 ? end + reach : span.start;
      const blocks = plot ? query(plot.rows[span.row], from, to, 0) : (await this.source.spans([[span.track, span.row]], from, to, 0))[0];
      const at: number[] = [];
      for (let i = 0; i < blocks.length; i += WORDS)
        if (by > 0 ? blocks[i + START] > span.start || (blocks[i + START] >= end && span.length) : blocks[i + START] < span.start) at.push(i);
      const i = by > 0 ? at[0] : at[at.length - 1];
      if (i !== undefined) return { ...span, start: blocks[i + START], length: blocks[i + LENGTH], name: blocks[i + NAME], count: 1, which: blocks[i + WHICH], extra: blocks[i + EXTRA] };
      if (by > 0 ? to > this.info.duration : from === 0) return null;
    }
  }

  private listen() {
    const c = this.canvas;
    let from: { x: number; range: Range; area: boolean; moved: boolean } | null = null;
    const place = (e: MouseEvent): [number, number] => {
      const box = c.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.shiftKey) this.pan(Math.sign(e.deltaY || e.deltaX) * 0.1);
      else if (e.ctrlKey || e.metaKey || !this.scrolls()) this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.ts(place(e)[0]));
      else this.scrollTo(this.scroll + e.deltaY);
    }, { passive: false });
    c.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      const [x, y] = place(e);
      c.setPointerCapture(e.pointerId);
      from = { x, range: this.range, area: e.shiftKey || y < SCALE, moved: false };
    });
    c.addEventListener("pointermove", (e) => {
      const [x, y] = place(e);
      this.pointer = this.ts(x);
      if (from && Math.abs(x - from.x) > 3) from.moved = true;
      if (from && from.moved && from.area) {
        const [a, b] = [this.ts(from.x), this.ts(x)].sort((p, q) => p - q);
        this.area = { from: Math.max(0, a), to: Math.min(b, this.info.duration) };
      } else if (from && from.moved) {
        const by = ((from.x - x) / this.width) * (from.range.to - from.range.from);
        this.show(from.range.from + by, from.range.to + by);
      } else this.events.hovered(this.spanAt(x, y), this.pointer, e.clientX, e.clientY);
      this.redraw();
    });
    c.addEventListener("pointerup", (e) => {
      const [x, y] = place(e);
      if (from && from.moved && from.area) this.events.area(this.area);
      else if (from && !from.moved) this.events.clicked(this.spanAt(x, y), this.ts(x));
      from = null;
    });
    c.addEventListener("pointercancel", () => (from = null));
    c.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.events.hovered(null, 0, 0, 0);
      this.redraw();
    });
    c.addEventListener("contextmenu", (e) => {
      e.preventDefault();
      const [x, y] = place(e), line = this.lineAt(y);
      this.events.menu(this.spanAt(x, y), line ? line.track : -1, this.ts(x), e.clientX, e.clientY);
    });
    c.addEventListener("dblclick", (e) => {
      const span = this.spanAt(...place(e));
      if (span && span.length) this.show(span.start - span.length * 0.1, span.start + span.length * 1.1);
    });
  }

  private scrolls(): boolean {
    return this.layout.height > this.view;
  }
}
