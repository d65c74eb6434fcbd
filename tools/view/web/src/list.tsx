// SPDX-License-Identifier: MIT
// The list of events and calls. Only the lines on the screen are in the page.
import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, duration } from "./format";
import type { Entry, Info, Source } from "./source";

const LINE = 20; // pixels
const MAX = 8_000_000; // browsers draw no higher box

export interface ListProps {
  source: Source;
  info: Info;
  chosen: number; // -1: none
  reveal: number; // an entry to be brought on the screen
  choose(at: number, entry: Entry): void;
  failed(error: Error): void;
}

export function List({ source, info, chosen, reveal, choose, failed }: ListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [height, setHeight] = useState(200);
  const [shown, setShown] = useState<{ first: number; entries: Entry[] }>({ first: 0, entries: [] });
  const lines = Math.ceil(height / LINE) + 1;
  const total = Math.min(info.list * LINE, MAX);
  // where the list is longer than a box can be, one pixel of it is several lines
  const last = Math.max(0, info.list - lines + 2);
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
      (error) => gone || failed(error)
    );
    return () => {
      gone = true;
    };
  }, [first, lines]);

  useEffect(() => {
    if (reveal < 0 || !box.current) return;
    if (reveal >= first && reveal < first + lines - 2) return;
    const to = Math.max(0, reveal - Math.floor(lines / 2));
    box.current.scrollTop = total < MAX ? to * LINE : (to / last) * (total - height);
    setFirst(to);
  }, [reveal]);

  const key = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: lines - 2, PageUp: 2 - lines }[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    const to = Math.max(0, Math.min(info.list - 1, chosen + by));
    source.list(to, 1).then(([entry]) => entry && choose(to, entry), failed);
  };

  return (
    <div class="list" role="grid" aria-label="Events and calls" aria-rowcount={info.list}>
      <div class="line head" role="row">
        {["#", "CPU", "Time", "Task", "Length", "Event", "Info"].map((title) => (
          <span role="columnheader">{title}</span>
        ))}
      </div>
      <div class="rows" role="rowgroup" ref={box} tabIndex={0} onKeyDown={key} onScroll={(e) => setFirst(scrolled(e.currentTarget.scrollTop))}>
        <div class="tall" role="presentation" style={{ height: `${total}px` }}>
          <div class="lines" role="presentation" style={{ transform: `translateY(${total < MAX ? shown.first * LINE : box.current?.scrollTop || 0}px)` }}>
            {shown.entries.map((entry, i) => {
              const at = shown.first + i;
              return (
                <div class={at === chosen ? "line chosen" : "line"} role="row" aria-rowindex={at + 1} aria-selected={at === chosen}
                  key={at} onClick={() => choose(at, entry)}>
                  {columns(info, entry, at).map((text) => (
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
  const [start, length, name, track, row, , cpu, tid, text] = entry;
  const time = clockTime(info.first, start);
  if (cpu !== undefined) {
    const task = info.tracks.find((t) => t.kind === "events" && t.id === tid);
    return [String(at), String(cpu), time, `${task ? task.name : ""}-${tid}`, "", info.names[name], text || ""];
  }
  const t = info.tracks[track];
  return [String(at), "", time, `${t.name}-${t.id}`, duration(length), info.names[name], `depth ${row}${t.stack ? `, stack ${t.stack}` : ""}`];
}
