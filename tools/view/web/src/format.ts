// SPDX-License-Identifier: MIT
// Times as text, and the colours of names.

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];

// A length of time: 1.234 ms.
export function duration(ns: number): string {
  for (const [unit, name] of UNITS)
    if (Math.abs(ns) >= unit) return `${(ns / unit).toFixed(3)} ${name}`;
  return `${Math.round(ns)} ns`;
}

// A time on the scale, with enough digits to tell marks `step` ns apart.
export function tick(ns: number, step: number): string {
  const [unit, name] = UNITS.find(([u]) => Math.abs(ns) >= u || step >= u) || [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
}

// A time of the trace's clock in seconds, as the list has it. `first` has more digits than a
// number.
export function clockTime(first: string, ns: number): string {
  const t = BigInt(first) + BigInt(Math.round(ns));
  const s = t / 1000000000n;
  return `${s}.${String(t % 1000000000n).padStart(9, "0")}`;
}

const HUES = 24;

export function colourNumber(n: number): number {
  return ((n * 2654435761) >>> 0) % (HUES * 3);
}

function channel(n: number, hue: number, saturation: number, light: number): number {
  const k = (n + hue / 30) % 12;
  return Math.round(255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
}

// The colours as pixels of a canvas, on a little-endian machine: ABGR.
export const PIXELS = new Uint32Array(HUES * 3);
// The same for CSS. Names are drawn on them in #101418: WCAG asks for a contrast of 4.5, and the
// darkest has 4.9.
export const COLOURS: string[] = [];
for (let i = 0; i < HUES * 3; i++) {
  const hue = ((i % HUES) * 360) / HUES, light = [0.72, 0.66, 0.8][Math.floor(i / HUES)];
  const [r, g, b] = [channel(0, hue, 0.55, light), channel(8, hue, 0.55, light), channel(4, hue, 0.55, light)];
  PIXELS[i] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  COLOURS.push(`rgb(${r},${g},${b})`);
}
