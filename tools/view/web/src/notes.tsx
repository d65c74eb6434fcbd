// SPDX-License-Identifier: MIT
// Notes at times; they are kept in the session.
import { useState } from "preact/hooks";
import { clockTime } from "./format";
import type { Viewer } from "./viewer";

export function NotesPanel({ v }: { v: Viewer }) {
  const [text, setText] = useState("");
  const g = v.graph;
  const add = () => {
    if (text.trim()) v.addNote(text.trim());
    setText("");
  };
  return (
    <div class="notes">
      <p class="hint">
        <label>Note at what is chosen, or in the middle: <input class="wide" value={text} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={(e) => e.key === "Enter" && add()} /></label>
        <button onClick={add}>Add note</button>
      </p>
      <ul>
        {g.notes.map((note) => (
          <li>
            <button onClick={() => g.reveal(note.ts)}>{clockTime(v.info.first, note.ts)}</button> {note.text}{" "}
            <button aria-label={`Remove ${note.text}`} onClick={() => { g.notes = g.notes.filter((n) => n !== note); g.redraw(); v.changed(); }}>✕</button>
          </li>
        ))}
      </ul>
    </div>
  );
}
