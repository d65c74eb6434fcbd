// SPDX-License-Identifier: MIT
// The context menu of the span under the pointer, or of the chosen one.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Viewer } from "./viewer";

export function Menu({ v }: { v: Viewer }) {
  const box = useRef<HTMLDivElement>(null);
  const { x, y, items } = v.menu!;
  // before the next key, which is for the menu
  useLayoutEffect(() => {
    box.current!.querySelector("button")?.focus();
  }, [v.menu]);
  const key = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    const buttons = Array.from(box.current!.querySelectorAll("button")), at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(at + by + buttons.length) % buttons.length].focus();
  };
  const high = items.length * 24 + 8;
  return (
    <div class="menu" role="menu" ref={box} onKeyDown={key} style={{ left: `${Math.min(x, innerWidth - 300)}px`, top: `${Math.max(0, Math.min(y, innerHeight - high))}px` }}>
      {items.map((item) => (
        <button role="menuitem" onClick={(e) => {
          e.stopPropagation();
          v.menu = null;
          v.changed();
          item.run();
        }}>{item.title}</button>
      ))}
    </div>
  );
}
