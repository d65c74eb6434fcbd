// SPDX-License-Identifier: MIT
// Comparison of two ranges: the self time of each function in both. With several files on one
// timeline, each file is a side.
import { ofTracks, useAnswer } from "./answer";
import { clockTime, duration } from "./format";
import type { Range } from "./graph";
import { callTracks } from "./panel";
import type { Viewer } from "./viewer";

interface Row {
  name: string;
  a: number; // self time, ns
  b: number;
  callsA: number;
  callsB: number;
}

export function DiffPanel({ v }: { v: Viewer }) {
  const { files, names, tracks } = v.info;
  const { base, area } = v, several = files.length > 1 && !base;
  const sides: { title: string; range: Range; tracks: number[] }[] = several
    ? [0, 1].map((file) => ({ title: files[file], range: v.shown, tracks: callTracks(v).filter((i) => tracks[i].file === file) }))
    : [base, area].map((range) => ({ title: range ? `${duration(range.to - range.from)} from ${clockTime(v.info.first, range.from)}` : "", range: range || v.whole, tracks: callTracks(v) }));
  const ready = several || (base && area);
  const compare = async (): Promise<Row[]> => {
    if (!ready) return [];
    const [a, b] = await Promise.all(sides.map((s) => ofTracks(s.tracks, (t) => v.source.table(s.range.from, s.range.to, t))));
    const all = new Map<string, Row>();
    const row = (name: number) => {
      const key = names[name];
      if (!all.has(key)) all.set(key, { name: key, a: 0, b: 0, callsA: 0, callsB: 0 });
      return all.get(key)!;
    };
    for (const [name, calls, , self] of a) Object.assign(row(name), { a: row(name).a + self, callsA: row(name).callsA + calls });
    for (const [name, calls, , self] of b) Object.assign(row(name), { b: row(name).b + self, callsB: row(name).callsB + calls });
    return [...all.values()].sort((p, q) => Math.abs(q.b - q.a) - Math.abs(p.b - p.a));
  };
  const rows = useAnswer<Row[]>([], compare, v.failed, [ready, JSON.stringify(sides)]);
  return (
    <>
      <div class="option">
        <button disabled={!area} onClick={() => { v.base = area; v.changed(); }}>The chosen range is A</button>
        {base && <button onClick={() => { v.base = null; v.changed(); }}>No A</button>}
      </div>
      {!ready && <p class="hint">Choose a range (drag with Shift), make it A, and choose another one, which is B{files.length > 1 ? "" : "; or open two files"}.</p>}
      {ready && (
        <table class="functions diff">
          <caption>A: {sides[0].title}; B: {sides[1].title}</caption>
          <thead><tr><th scope="col">Function</th><th scope="col">A self</th><th scope="col">B self</th><th scope="col">B − A</th><th scope="col">A calls</th><th scope="col">B calls</th></tr></thead>
          <tbody>
            {rows.slice(0, 500).map((r) => (
              <tr onClick={() => v.highlight(r.name)} class={v.highlightedName === r.name ? "lit" : ""}>
                <td title={r.name}><button>{r.name}</button></td>
                <td>{duration(r.a)}</td><td>{duration(r.b)}</td>
                <td class={r.b > r.a ? "more" : "less"}>{r.b > r.a ? "+" : ""}{duration(r.b - r.a)}</td>
                <td>{r.callsA}</td><td>{r.callsB}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
