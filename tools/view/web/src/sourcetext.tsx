// SPDX-License-Identifier: MIT
// The source text of the chosen function, if the server finds it.
import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "./answer";
import type { SourceText } from "./source";
import type { Viewer } from "./viewer";

export function SourcePanel({ v }: { v: Viewer }) {
  const { span } = v, name = span && v.graph.tracks[span.track].kind === "calls" ? span.name : -1;
  const answer = useAnswer<{ name: number; text: SourceText } | null>(null, async () => (name >= 0 && v.source.text ? { name, text: await v.source.text(name) } : null), v.failed, [name]);
  const text = answer && answer.name === name ? answer.text : null;
  const here = useRef<HTMLSpanElement>(null);
  useEffect(() => here.current?.scrollIntoView({ block: "center" }), [text]);
  if (name < 0) return <p class="hint">Choose a call to see the source of its function.</p>;
  if (!v.source.text) return <p class="hint">This page has no server, so it cannot show the source.</p>;
  if (!text) return <p class="hint">Reading …</p>;
  if (text.error) return <p class="hint">{text.error}</p>;
  return (
    <>
      <p class="hint">{text.path}:{text.line}</p>
      <pre class="source">
        {text.lines.map((line, i) => (
          <span class={i + 1 === text.line ? "here" : ""} ref={i + 1 === text.line ? here : undefined}>{String(i + 1).padStart(5)}  {line}{"\n"}</span>
        ))}
      </pre>
    </>
  );
}
