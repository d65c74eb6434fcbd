// SPDX-License-Identifier: MIT
// How plots are drawn: the values of a field over time, and heat maps of lengths over time.
import type { Plot } from "./plots";
import { lowerBound } from "./local";

interface PlotArea {
  from: number; // ns
  to: number;
  width: number; // pixels
  top: number;
  height: number;
}

// The values on the screen, as a stepped line. In each pixel the smallest and the largest are
// drawn.
export function drawValues(g: CanvasRenderingContext2D, plot: Plot, p: PlotArea, ink: string) {
  const { start } = plot.rows[0], values = plot.values!, scale = p.width / (p.to - p.from);
  const first = Math.max(0, lowerBound(start, p.from) - 1), last = Math.min(start.length, lowerBound(start, p.to) + 1);
  let [least, most] = [Infinity, -Infinity];
  for (let i = first; i < last; i++) {
    least = Math.min(least, values[i]);
    most = Math.max(most, values[i]);
  }
  if (first >= last) return;
  const y = (value: number) => p.top + p.height - 2 - (most > least ? ((value - least) / (most - least)) * (p.height - 6) : (p.height - 6) / 2);
  g.strokeStyle = "#2a6fc4";
  g.beginPath();
  let column = -1;
  for (let i = first; i < last; i++) {
    const x = (start[i] - p.from) * scale;
    if (i === first) g.moveTo(x, y(values[i]));
    else g.lineTo(x, Math.floor(x) === column ? y(values[i]) : y(values[i - 1]));
    g.lineTo(x, y(values[i]));
    column = Math.floor(x);
    if (last - first < p.width / 4) g.rect(x - 1, y(values[i]) - 1, 2, 2);
  }
  g.stroke();
  g.fillStyle = ink;
  g.fillText(String(most), 3, p.top + 7);
  g.fillText(String(least), 3, p.top + p.height - 6);
}

const HEAT_ROWS = 16;

// A heat map: a column is some pixels of time, a row a power of two of the length. `counts` has the
// number of spans of each box.
function heatBoxes(plot: Plot, from: number, to: number, columns: number): { counts: number[]; most: number; shortest: number } {
  const { start, length } = plot.rows[0], counts: number[] = new Array(columns * HEAT_ROWS).fill(0);
  const powers = length.map((n) => (n < 1 ? 0 : Math.floor(Math.log2(n))));
  const longest = powers.reduce((a, b) => Math.max(a, b), 0), shortest = Math.max(0, longest - HEAT_ROWS + 1);
  let most = 0;
  for (let i = lowerBound(start, from); i < start.length && start[i] < to; i++) {
    const column = Math.min(columns - 1, Math.floor(((start[i] - from) / (to - from)) * columns));
    const at = Math.max(0, powers[i] - shortest) * columns + column;
    most = Math.max(most, ++counts[at]);
  }
  return { counts, most, shortest };
}

export function drawHeat(g: CanvasRenderingContext2D, plot: Plot, p: PlotArea) {
  const columns = Math.max(1, Math.floor(p.width / 4)), { counts, most } = heatBoxes(plot, p.from, p.to, columns), high = p.height / HEAT_ROWS;
  counts.forEach((nr, i) => {
    if (!nr) return;
    g.fillStyle = `hsl(${Math.round(40 - 40 * (nr / most))},85%,${Math.round(75 - 35 * Math.sqrt(nr / most))}%)`;
    g.fillRect((i % columns) * 4, p.top + p.height - (Math.floor(i / columns) + 1) * high, 4, high);
  });
}
