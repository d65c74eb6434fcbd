// SPDX-License-Identifier: MIT
// The flame graph of a range: time by callers, on and off the CPU.
import { useState } from "preact/hooks";
import { COLOURS, colourNumber, duration } from "./format";
import { useFlame } from "./panel";
import type { FlameRow } from "./source";
import type { Viewer } from "./viewer";

interface Box {
  node: number;
  depth: number;
  left: number;
  width: number;
}

const FLAME_LINE = 18;

// Boxes of the flame graph, the widest first beneath each caller. Boxes below 0.1 % are left out.
function flameBoxes(rows: FlameRow[], root: number): Box[] {
  const children: number[][] = [];
  rows.forEach(([caller], i) => (children[caller] = children[caller] || []).push(i + 1));
  const total = (node: number) => (node ? rows[node - 1][3] : (children[0] || []).reduce((sum, i) => sum + rows[i - 1][3], 0));
  const boxes: Box[] = [];
  const all = total(root) || 1;
  const put = (node: number, depth: number, left: number) => {
    const width = total(node) / all;
    if (width < 0.001 && node !== root) return;
    boxes.push({ node, depth, left, width: total(root) ? width : 1 });
    (children[node] || []).sort((a, b) => total(b) - total(a)).forEach((child) => {
      put(child, depth + 1, left);
      left += total(child) / all;
    });
  };
  put(root, 0, 0);
  return boxes;
}

export function FlamePanel({ v }: { v: Viewer }) {
  const { names } = v.info;
  const [offCpu, setOffCpu] = useState(false);
  const [zoomed, setRoot] = useState(0);
  const rows = useFlame(v, offCpu), root = zoomed > rows.length ? 0 : zoomed;
  const boxes = flameBoxes(rows, root);
  const deepest = boxes.reduce((d, b) => Math.max(d, b.depth), 0);
  return (
    <>
      <label class="option"><input type="checkbox" checked={offCpu} onChange={(e) => { setOffCpu(e.currentTarget.checked); setRoot(0); }} />time off the CPU</label>
      {offCpu && !rows.length && <p class="hint">No time off the CPU is known: record with -e sched.</p>}
      <div class="flame" style={{ height: `${(deepest + 1) * FLAME_LINE}px` }}>
        {boxes.map(({ node, depth, left, width }) => {
          const row = rows[node - 1];
          const name = node ? names[row[1]] : "all";
          const title = node ? `${name}: ${row[2]} calls, ${duration(row[3])}, self ${duration(row[4])}` : "all";
          return (
            <button class="box" key={node} title={title}
              style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * FLAME_LINE}px`, background: node ? COLOURS[colourNumber(row[1])] : "#ccc" }}
              onClick={() => {
                setRoot(node === root ? 0 : node);
                v.highlight(node ? name : null);
              }}>
              {name}
            </button>
          );
        })}
      </div>
    </>
  );
}
