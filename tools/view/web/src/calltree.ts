// SPDX-License-Identifier: MIT
// The call tree, and its transforms: focus, merge, collapse, invert.
import type { FlameRow } from "./source";

export interface TreeNode {
  name: number; // -1: above all
  calls: number;
  total: number; // ns
  self: number;
  children: TreeNode[];
}

export interface Transform {
  kind: "focus" | "merge" | "collapse"; // focus: keep one function; merge: leave one out, its time goes to the caller; collapse: a recursion as one call
  name: number;
}

function node(name: number): TreeNode {
  return { name, calls: 0, total: 0, self: 0, children: [] };
}

export function treeOf(rows: FlameRow[]): TreeNode {
  const nodes = [node(-1), ...rows.map(([, name, calls, total, self]) => ({ name, calls, total, self, children: [] as TreeNode[] }))];
  rows.forEach(([caller], i) => nodes[caller].children.push(nodes[i + 1]));
  nodes[0].total = nodes[0].children.reduce((sum, c) => sum + c.total, 0);
  return nodes[0];
}

// The paths of a tree: the functions from the outermost to one, with its self time and calls.
function paths(tree: TreeNode, visit: (path: number[], self: number, calls: number) => void, path: number[] = []) {
  for (const child of tree.children) {
    path.push(child.name);
    visit(path, child.self, child.calls);
    paths(child, visit, path);
    path.pop();
  }
}

function add(root: TreeNode, path: number[], self: number, calls: number) {
  let at = root;
  at.total += self;
  for (const name of path) {
    let next = at.children.find((c) => c.name === name);
    if (!next) at.children.push((next = node(name)));
    next.total += self;
    at = next;
  }
  at.self += self;
  at.calls += calls;
}

export function transformed(tree: TreeNode, transforms: Transform[]): TreeNode {
  return transforms.reduce((from, { kind, name }) => {
    const to = node(-1);
    paths(from, (path, self, calls) => {
      if (kind === "focus") {
        const at = path.indexOf(name);
        if (at >= 0) add(to, path.slice(at), self, calls);
      } else if (kind === "merge") {
        const left = path.filter((n) => n !== name);
        if (left.length) add(to, left, self, path[path.length - 1] === name ? 0 : calls);
        else to.total += self;
      } else {
        const first = path.indexOf(name), last = path.lastIndexOf(name);
        // calls by itself are in the outermost one
        const nested = first !== last && last === path.length - 1;
        add(to, first < 0 ? path : [...path.slice(0, first), ...path.slice(last)], self, nested ? 0 : calls);
      }
    });
    return to;
  }, tree);
}

// The tree turned round: from each function to its callers.
export function inverted(tree: TreeNode): TreeNode {
  const to = node(-1);
  paths(tree, (path, self, calls) => add(to, [...path].reverse(), self, calls));
  // add() counted calls at the end of a path: sum them up to the function at its begin
  const fill = (at: TreeNode): number => (at.calls += at.children.reduce((sum, c) => sum + fill(c), 0));
  to.children.forEach(fill);
  // the time is the own time of the function at the begin, and of no caller
  const clear = (at: TreeNode) => {
    at.self = 0;
    at.children.forEach(clear);
  };
  to.children.forEach((at) => {
    clear(at);
    at.self = at.total;
  });
  return to;
}
