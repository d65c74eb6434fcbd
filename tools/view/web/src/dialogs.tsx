// SPDX-License-Identifier: MIT
// The dialogs: help, palette, choice of tracks, new plots, filters by lists, and the two that
// compose a command for the terminal: to record, and to cut out a part.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { commands, keyTitle, paletteEntries } from "./commands";
import { quote } from "./filter";
import { clockTime } from "./format";
import { isCpu, trackTitle } from "./layout";
import type { PlotDefinition } from "./plots";
import type { Viewer } from "./viewer";

export function Dialogs({ v }: { v: Viewer }) {
  switch (v.dialog) {
    case "help": return <Help v={v} />;
    case "palette": return <Palette v={v} />;
    case "tracks": return <Tracks v={v} />;
    case "newplot": return <NewPlot v={v} />;
    case "filter": return <FilterLists v={v} />;
    case "cut": return <Cut v={v} />;
    default: return <Record v={v} />;
  }
}

function Box({ v, title, children }: { v: Viewer; title: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  // before the next key, which is for the dialog
  useLayoutEffect(() => {
    box.current!.querySelector<HTMLElement>("input, button, select")?.focus();
  }, []);
  return (
    <div class="dialog" role="dialog" aria-label={title} ref={box}>
      <h2>{title}</h2>
      {children}
      <button class="close" aria-label="Close" onClick={() => v.escape()}>✕</button>
    </div>
  );
}

function Help({ v }: { v: Viewer }) {
  return (
    <Box v={v} title="Help">
      <p>Click chooses, drag goes left and right, drag with Shift chooses a range, the right button has a menu. The wheel zooms with Ctrl, and goes left and right with Shift.</p>
      <dl class="help">
        {commands(v).filter((c) => c.keys.length).map((c) => (
          <>
            <dt>{c.keys.map(keyTitle).join(", ")}</dt>
            <dd>{c.title}</dd>
          </>
        ))}
      </dl>
    </Box>
  );
}

function Palette({ v }: { v: Viewer }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/);
  const found = paletteEntries(v).filter((c) => words.every((w) => c.title.toLowerCase().includes(w))).slice(0, 12);
  const run = (i: number) => {
    if (!found[i]) return;
    v.dialog = null;
    v.changed();
    found[i].run();
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Enter") run(at);
    else if (e.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
    else if (e.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <Box v={v} title="Commands">
      <input class="wide" role="combobox" aria-expanded="true" aria-controls="entries" aria-activedescendant={`entry${at}`} aria-label="Command" value={text} onKeyDown={key}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }} />
      <div id="entries" role="listbox" aria-label="Commands">
        {found.map((c, i) => (
          <div role="option" id={`entry${i}`} class="entry" aria-selected={i === at} onClick={() => run(i)}>
            {c.title} <kbd>{c.keys.map(keyTitle).join(", ")}</kbd>
          </div>
        ))}
      </div>
    </Box>
  );
}

const KINDS: [string, (v: Viewer, i: number) => boolean][] = [
  ["CPUs", (v, i) => isCpu(v.graph.tracks[i])],
  ["Threads", (v, i) => !isCpu(v.graph.tracks[i]) && !v.graph.tracks[i].plot],
  ["Plots", (v, i) => !!v.graph.tracks[i].plot],
];

function Tracks({ v }: { v: Viewer }) {
  const { tracks, layout } = v.graph;
  return (
    <Box v={v} title="Tracks">
      <div class="columns">
        {KINDS.map(([title, is]) => {
          const those = tracks.map((_, i) => i).filter((i) => is(v, i));
          if (!those.length) return null;
          return (
            <fieldset>
              <legend>{title}</legend>
              <button onClick={() => v.hide(those, false)}>All</button>
              <button onClick={() => v.hide(those, true)}>None</button>
              <div class="checks">
                {those.map((i) => (
                  <label>
                    <input type="checkbox" checked={!layout.hidden.has(i)} onChange={(e) => v.hide([i], !e.currentTarget.checked)} />
                    {trackTitle(tracks[i])}
                  </label>
                ))}
              </div>
            </fieldset>
          );
        })}
      </div>
      <label><input type="checkbox" checked={layout.grouped} onChange={(e) => { layout.grouped = e.currentTarget.checked; v.graph.layOut(); }} />Group by process</label>
    </Box>
  );
}

function NewPlot({ v }: { v: Viewer }) {
  const [pair, setPair] = useState({ from: "sched_waking", to: "sched_switch", by: "pid=next_pid" });
  const [field, setField] = useState({ events: "event == sched_stat_runtime", field: "runtime" });
  const [name, setName] = useState("");
  const add = (definition: PlotDefinition) => v.plot(definition);
  const asEvent = (text: string) => (/^[\w:]+$/.test(text) ? `event == ${text}` : text);
  const input = (label: string, value: string, set: (value: string) => void, list?: string) => (
    <label>{label}<input class="wide" list={list} value={value} onInput={(e) => set(e.currentTarget.value)} /></label>
  );
  return (
    <Box v={v} title="Add a plot">
      <datalist id="names">{v.info.names.slice(0, 5000).map((n) => <option value={n} />)}</datalist>
      <form onSubmit={(e) => { e.preventDefault(); add({ kind: "pair", from: asEvent(pair.from), to: asEvent(pair.to), by: pair.by }); }}>
        <h3>Time between two events</h3>
        {input("from event or filter", pair.from, (from) => setPair({ ...pair, from }), "names")}
        {input("to event or filter", pair.to, (to) => setPair({ ...pair, to }), "names")}
        {input("of the same (task, cpu, all, a field, or field=field)", pair.by, (by) => setPair({ ...pair, by }))}
        <button>Add latency</button>
      </form>
      <form onSubmit={(e) => { e.preventDefault(); add({ kind: "field", events: asEvent(field.events), field: field.field }); }}>
        <h3>Values of a field</h3>
        {input("of events (filter)", field.events, (events) => setField({ ...field, events }), "names")}
        {input("field", field.field, (f) => setField({ ...field, field: f }))}
        <button>Add field</button>
      </form>
      <form onSubmit={(e) => { e.preventDefault(); add({ kind: "heat", name }); }}>
        <h3>How long a function took, over time</h3>
        {input("function", name, setName, "names")}
        <button>Add heat map</button>
      </form>
      <button onClick={() => add({ kind: "locks" })}>Add tracks of waits for locks</button>
      <button onClick={() => add({ kind: "held" })}>Add tracks of the holders of locks</button>
    </Box>
  );
}

// A filter by lists of events, threads and CPUs; Apply makes one expression of them.
function FilterLists({ v }: { v: Viewer }) {
  const { info } = v;
  const used = (kinds: string[]) => info.tracks.filter((t) => kinds.includes(t.kind));
  const events = info.names.filter((n, i) => info.objects[i] === null && n.includes(":"));
  const threads = [...new Map(used(["events", "calls", "states"]).map((t) => [String(t.id), `${t.name}-${t.id}`]))];
  const cpus = [...new Map(used(["cpu", "cpu-events"]).map((t) => [String(t.id), `CPU ${t.id}`]))];
  const [off, setOff] = useState<Set<string>>(new Set());
  const parts: [string, string, [string, string][]][] = [["Events", "event", events.map((e) => [e, e])], ["Threads", "pid", threads], ["CPUs", "cpu", cpus]];
  const apply = () => {
    const terms = parts.flatMap(([, column, all]) => {
      const on = all.filter(([value]) => !off.has(`${column} ${value}`)), out = all.filter(([value]) => off.has(`${column} ${value}`));
      if (!out.length) return [];
      const those = on.length < out.length && on.length ? on.map(([value]) => `${column} == ${quote(value)}`).join(" || ") : out.map(([value]) => `${column} != ${quote(value)}`).join(" && ");
      return [those.includes("||") ? `(${those})` : those];
    });
    v.dialog = null;
    v.setFilter(terms.join(" && "), v.filter.graph, v.filter.list);
  };
  const set = (keys: string[], on: boolean) => {
    const next = new Set(off);
    for (const key of keys) on ? next.delete(key) : next.add(key);
    setOff(next);
  };
  return (
    <Box v={v} title="Show only these">
      <div class="columns">
        {parts.map(([title, column, all]) => all.length > 0 && (
          <fieldset>
            <legend>{title}</legend>
            <button onClick={() => set(all.map(([value]) => `${column} ${value}`), true)}>All</button>
            <button onClick={() => set(all.map(([value]) => `${column} ${value}`), false)}>None</button>
            <div class="checks">
              {all.map(([value, label]) => (
                <label><input type="checkbox" checked={!off.has(`${column} ${value}`)} onChange={(e) => set([`${column} ${value}`], e.currentTarget.checked)} />{label}</label>
              ))}
            </div>
          </fieldset>
        ))}
      </div>
      <button onClick={apply}>Apply</button>
    </Box>
  );
}

// A word quoted for a shell.
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

// The page starts no program: it composes the command.
function Record({ v }: { v: Viewer }) {
  const [tracer, setTracer] = useState("function_graph");
  const [events, setEvents] = useState("sched");
  const [kernel, setKernel] = useState(false);
  const [program, setProgram] = useState("./prog");
  const [output, setOutput] = useState("trace.dat");
  const words = ["vestige", "record", ...(tracer ? ["-p", tracer] : []), ...(kernel ? ["-k"] : []), ...events.split(/[\s,]+/).filter((e) => e).flatMap((e) => ["-e", shellWord(e)]), "-o", shellWord(output)];
  const line = `${words.join(" ")} -- ${program}`;
  return (
    <Box v={v} title="Record">
      <p>This page starts no program. Copy the command into a terminal.</p>
      <label>Tracer
        <select value={tracer} onChange={(e) => setTracer(e.currentTarget.value)}>
          <option value="function_graph">function_graph: calls with their times</option>
          <option value="function">function: calls</option>
          <option value="">none: events alone</option>
        </select>
      </label>
      <label>Events<input class="wide" value={events} onInput={(e) => setEvents(e.currentTarget.value)} /></label>
      <label><input type="checkbox" checked={kernel} onChange={(e) => setKernel(e.currentTarget.checked)} />of the kernel, too</label>
      <label>Program and its arguments<input class="wide" value={program} onInput={(e) => setProgram(e.currentTarget.value)} /></label>
      <label>Output<input class="wide" value={output} onInput={(e) => setOutput(e.currentTarget.value)} /></label>
      <CommandLine v={v} line={line} />
    </Box>
  );
}

// Compose the command that cuts out a part of the recording: the server writes no recordings.
function Cut({ v }: { v: Viewer }) {
  const [output, setOutput] = useState("part.dat");
  const { files, offsets, first } = v.info, { from, to } = v.area || v.chosen || v.range, many = files.length > 1;
  // a file's own times: without the offset that was added. Rounded outward, so that both ends of a
  // call are in
  const time = (ns: number, file: number) => clockTime(first, Math.max(ns - offsets[file], -Number(first)));
  const name = (file: number) => shellWord(many ? `${file + 1}-${output}` : output);
  const line = files.map((path, i) => `vestige split -i ${shellWord(path)} -o ${name(i)} ${time(Math.floor(from), i)} ${time(Math.ceil(to), i)}`).join(" && ");
  return (
    <Box v={v} title="Cut">
      <p>This page writes no recording. Copy the command into a terminal: it writes the records of {v.area ? "the range" : v.chosen ? "the chosen time" : "the time that is shown"} into {many ? "a file for each recording" : "a file"}, {name(0)}.1{many ? " and so on" : ""}.</p>
      <label>Output<input class="wide" value={output} onInput={(e) => setOutput(e.currentTarget.value)} /></label>
      <CommandLine v={v} line={line} />
    </Box>
  );
}

function CommandLine({ v, line }: { v: Viewer; line: string }) {
  return (
    <>
      <p><code class="command">{line}</code></p>
      <button onClick={() => navigator.clipboard.writeText(line).catch(v.failed)}>Copy</button>
    </>
  );
}
