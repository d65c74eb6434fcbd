// SPDX-License-Identifier: MIT
// The call tree of a range: from callers to callees, or inverted.
import { useState } from "preact/hooks";
import { Transform, TreeNode, inverted, transformed, treeOf } from "./calltree";
import { duration } from "./format";
import { useFlame } from "./panel";
import type { Viewer } from "./viewer";

const ACTIONS: [Transform["kind"], string, string][] = [
  ["focus", "Focus", "show only this function and what it calls"],
  ["merge", "Merge", "leave this function out: its time goes to its caller"],
  ["collapse", "Collapse recursion", "show a recursion as one call"],
];

interface Line {
  node: TreeNode;
  depth: number;
  path: string;
}

export function TreePanel({ v }: { v: Viewer }) {
  const { names } = v.info;
  const [inverts, setInverts] = useState(false);
  const [offCpu, setOffCpu] = useState(false);
  const [transforms, setTransforms] = useState<Transform[]>([]);
  const [open, setOpen] = useState<Set<string>>(new Set());
  const [at, setAt] = useState("");
  const rows = useFlame(v, offCpu);
  const changed = transformed(treeOf(rows), transforms), tree = inverts ? inverted(changed) : changed, all = tree.total || 1;
  const lines: Line[] = [];
  const put = (node: TreeNode, depth: number, path: string) => {
    for (const child of [...node.children].sort((a, b) => b.total - a.total).slice(0, 200)) {
      const here = `${path}/${child.name}`;
      lines.push({ node: child, depth, path: here });
      if (open.has(here) || (depth === 0 && !open.has(`-${here}`) && node.children.length === 1)) put(child, depth + 1, here);
    }
  };
  put(tree, 0, "");
  const chosen = lines.find((l) => l.path === at);
  const toggle = (path: string) => {
    const next = new Set(open), is = lines.some((l) => l.path.startsWith(`${path}/`));
    is ? (next.delete(path), next.add(`-${path}`)) : (next.add(path), next.delete(`-${path}`));
    setOpen(next);
  };
  const choose = (l: Line) => {
    setAt(l.path);
    v.highlightedName = "";
    v.highlight(names[l.node.name]);
  };
  const key = (e: KeyboardEvent) => {
    const i = lines.findIndex((l) => l.path === at), to = { ArrowDown: i + 1, ArrowUp: i - 1 }[e.key];
    if (to !== undefined && lines[to]) choose(lines[to]);
    else if ((e.key === "ArrowRight" || e.key === "ArrowLeft" || e.key === "Enter") && at) toggle(at);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <>
      <div class="option">
        <label><input type="checkbox" checked={inverts} onChange={(e) => setInverts(e.currentTarget.checked)} />invert (to callers)</label>
        <label><input type="checkbox" checked={offCpu} onChange={(e) => setOffCpu(e.currentTarget.checked)} />time off the CPU</label>
        {ACTIONS.map(([kind, title, what]) => (
          <button title={what} disabled={!chosen} onClick={() => chosen && setTransforms([...transforms, { kind, name: chosen.node.name }])}>{title}</button>
        ))}
        {transforms.map((t, i) => (
          <button class="transform" onClick={() => setTransforms(transforms.filter((_, k) => k !== i))}>{t.kind} {names[t.name]} ✕</button>
        ))}
      </div>
      <table class="functions tree" role="treegrid" aria-label="Call tree" tabIndex={0} onKeyDown={key}>
        <thead><tr><th scope="col">Function</th><th scope="col">Total</th><th scope="col">%</th><th scope="col">Self</th><th scope="col">Calls</th></tr></thead>
        <tbody>
          {lines.map((l) => (
            <tr key={l.path} role="row" aria-level={l.depth + 1} aria-selected={l.path === at} class={l.path === at ? "lit" : ""} onClick={() => choose(l)} onDblClick={() => toggle(l.path)}>
              <td style={{ paddingLeft: `${l.depth * 14 + 2}px` }} title={names[l.node.name]}>
                <span class="twist" onClick={(e) => { e.stopPropagation(); toggle(l.path); }}>{l.node.children.length ? (lines.some((x) => x.path.startsWith(`${l.path}/`)) ? "▾" : "▸") : " "}</span>
                {names[l.node.name]}
              </td>
              <td>{duration(l.node.total)}</td>
              <td>{((100 * l.node.total) / all).toFixed(1)}</td>
              <td>{duration(l.node.self)}</td>
              <td>{l.node.calls}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
