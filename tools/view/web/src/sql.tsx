// SPDX-License-Identifier: MIT
// The SQL tab.
import { useState } from "preact/hooks";
import type { SqlAnswer } from "./source";
import type { Viewer } from "./viewer";

const EXAMPLE = "SELECT name, count(*) AS calls, percentile(duration, 99) AS p99, max(duration)\nFROM slices GROUP BY name ORDER BY 4 DESC LIMIT 20";

// Runs a SELECT over the recording. A click on a row with a `start` shows that time.
export function SqlPanel({ v }: { v: Viewer }) {
  const { source, info } = v;
  const [question, setQuestion] = useState(EXAMPLE);
  const [answer, setAnswer] = useState<SqlAnswer | null>(null);
  const [busy, setBusy] = useState(false);
  if (!source.sql) return <p class="hint">This page has no server. Use vestige sql FILE 'SELECT ...' instead.</p>;
  const run = async () => {
    setBusy(true);
    try {
      setAnswer(await source.sql!(question));
    } catch (error) {
      setAnswer({ error: (error as Error).message, names: [], rows: [], cut: false });
    }
    setBusy(false);
  };
  const start = answer && !answer.error ? answer.names.indexOf("start") : -1, length = answer && !answer.error ? answer.names.indexOf("duration") : -1;
  const show = (from: number, ns: number) => v.graph.show(from - Math.max(ns, 1000), from + 2 * Math.max(ns, 1000));
  const go = (row: (string | null)[]) => {
    if (start >= 0 && /^\d+$/.test(row[start] || "")) show(Number(BigInt(row[start]!) - BigInt(info.first)), Number(row[length] || 0));
  };
  return (
    <div class="sql">
      <textarea aria-label="SELECT of the tables slices, events, states, cpus, tracks, functions" rows={3} value={question}
        onInput={(e) => setQuestion(e.currentTarget.value)} onKeyDown={(e) => e.ctrlKey && e.key === "Enter" && run()} />
      <button onClick={run} disabled={busy}>Run</button>
      {start >= 0 && <button onClick={() => v.plot({ kind: "sql", question })}>Show as a track</button>}
      {answer && answer.error && <p class="hint" role="alert">{answer.error}</p>}
      {answer && !answer.error && (
        <table class="functions">
          <thead><tr>{answer.names.map((name) => <th scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {answer.rows.map((row) => <tr onClick={() => go(row)}>{row.map((cell) => <td title={cell || ""}>{cell}</td>)}</tr>)}
          </tbody>
        </table>
      )}
      {answer && answer.cut && <p class="hint">There are more rows.</p>}
    </div>
  );
}
