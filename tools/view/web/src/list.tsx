// SPDX-License-Identifier: MIT
// The list of events and calls. The page has elements for the lines on the screen alone.
import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, duration } from "./format";
import { Entry, Info, Source, isEvent } from "./source";
import type { Viewer } from "./viewer";

const LINE = 20; // pixels
const MAX = 8_000_000; // pixels: the highest element that browsers draw

interface ListProps {
  v: Viewer;
  source: Source;
  length: number;
  chosen: number; // -1: none
}

export function List({ v, source, length, chosen }: ListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [height, setHeight] = useState(200);
  const [shown, setShown] = useState<{ first: number; entries: Entry[] }>({ first: 0, entries: [] });
  const lines = Math.ceil(height / LINE) + 1;
  const total = Math.min(length * LINE, MAX);
  // a list higher than MAX is scrolled by several lines a pixel
  const last = Math.max(0, length - lines + 2);
  const scrolled = (top: number) => (total < MAX ? Math.floor(top / LINE) : Math.round((top / (total - height)) * last));

  useEffect(() => {
    const watch = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    let gone = false;
    source.list(first, lines).then(
      (entries) => gone || setShown({ first, entries }),
      (error) => gone || v.failed(error)
    );
    return () => {
      gone = true;
    };
  }, [first, lines, source, length]);

  useEffect(() => {
    box.current!.scrollTop = 0;
    setFirst(0);
  }, [source]);

  useEffect(() => {
    if (chosen < 0 || !box.current) return;
    if (chosen >= first && chosen < first + lines - 2) return;
    const to = Math.max(0, chosen - Math.floor(lines / 2));
    box.current.scrollTop = total < MAX ? to * LINE : (to / last) * (total - height);
    setFirst(to);
  }, [chosen, source]);

  const key = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: lines - 2, PageUp: 2 - lines, Home: -length, End: length }[e.key];
    if (!by || e.shiftKey) return;
    e.preventDefault();
    e.stopPropagation();
    const to = Math.max(0, Math.min(length - 1, chosen + by));
    source.list(to, 1).then(([entry]) => entry && v.chooseEntry(to, entry), v.failed);
  };

  const { a, b } = v.graph ? v.graph.markers : { a: null, b: null };
  return (
    <div class="list" role="grid" aria-label="Events and calls" aria-rowcount={length}>
      <div class="line head" role="row">
        {["#", "CPU", "Time", "Task", "PID", "Latency", "Event", "Info"].map((title) => (
          <span role="columnheader">{title}</span>
        ))}
      </div>
      <div class="rows" role="rowgroup" ref={box} tabIndex={0} onKeyDown={key} onScroll={(e) => setFirst(scrolled(e.currentTarget.scrollTop))}>
        <div class="tall" role="presentation" style={{ height: `${total}px` }}>
          <div class="lines" role="presentation" style={{ transform: `translateY(${total < MAX ? shown.first * LINE : box.current?.scrollTop || 0}px)` }}>
            {shown.entries.map((entry, i) => {
              const at = shown.first + i;
              const mark = entry[0] === a ? " mark-a" : entry[0] === b ? " mark-b" : "";
              return (
                <div class={`line${at === chosen ? " chosen" : ""}${mark}`} role="row" aria-rowindex={at + 1} aria-selected={at === chosen}
                  key={at} onClick={() => v.chooseEntry(at, entry)} onContextMenu={(e) => {
                    e.preventDefault();
                    v.entryMenu(at, entry, e.clientX, e.clientY);
                  }}>
                  {columns(v.info, entry, at).map((text) => (
                    <span role="gridcell" title={text}>{text}</span>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

function columns(info: Info, entry: Entry, at: number): string[] {
  const [start, length, name, track, row, , cpu, latency, text] = entry, t = info.tracks[track];
  const detail = isEvent(entry) ? text! : `${duration(length)}, depth ${row}${t.stack ? `, stack ${t.stack}` : ""}`;
  return [String(at), cpu < 0 ? "" : String(cpu), clockTime(info.first, start), t.name, String(t.id), latency || "", info.names[name], detail];
}
