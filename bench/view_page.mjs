// SPDX-License-Identifier: MIT
// The time and memory of the page of `vestige view` in a browser:
// node view_page.mjs MODULES CHROMIUM REDIRECT-FILE
// Prints JSON: for each size of the window how many spans are on the screen, the milliseconds of
// frames (script and raster of the canvas), and the bytes that the renderer has of its own.
import { createRequire } from "node:module";
import { readFileSync, readdirSync } from "node:fs";

const [modules, chromium, redirect] = process.argv.slice(2);
const { chromium: playwright } = createRequire(`${modules}/x.js`)("playwright-core");
const SIZES = [[1366, 768], [3840, 2160]];
const FRAMES = 60;
const NODES = 32000; // spans on the screen, for which the bar is set

const read = (path) => {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // the process has ended
  }
};

const parent = (pid) => Number(read(`/proc/${pid}/stat`).split(") ").at(-1).split(" ")[1]);

// The private resident memory of the pages' processes, bytes.
function rendererBytes() {
  let kb = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let up = Number(pid);
    while (up > 1 && up !== process.pid) up = parent(up);
    if (up === process.pid && read(`/proc/${pid}/cmdline`).includes("--type=renderer"))
      for (const [, n] of read(`/proc/${pid}/smaps_rollup`).matchAll(/^Private_\w+: +(\d+) kB/gm)) kb += Number(n);
  }
  return kb * 1024;
}

// Show the range around the middle with the number of spans nearest to NODES, if possible not
// fewer.
async function crowded(page) {
  let best = null;
  for (let zoom = 0; zoom < 24; zoom++) {
    await page.waitForFunction(() => window.vestige.graph.settled(), null, { timeout: 60000 });
    const now = await page.evaluate(() => {
      const { graph } = window.vestige, { from, to } = graph.range;
      let nodes = 0;
      for (const line of [...graph.visible(true), ...graph.visible(false)]) {
        const blocks = graph.blocks(line) ?? [];
        for (let i = 0; i < blocks.length; i += 7) nodes += blocks[i] + blocks[i + 1] >= from && blocks[i] <= to;
      }
      return { nodes, from, to };
    });
    if (!best || (best.nodes < NODES ? now.nodes > best.nodes : now.nodes >= NODES && now.nodes < best.nodes)) best = now;
    await page.evaluate(() => window.vestige.graph.zoom(0.5, (window.vestige.graph.range.from + window.vestige.graph.range.to) / 2));
  }
  await page.evaluate(({ from, to }) => window.vestige.graph.show(from, to), best);
  await page.waitForFunction(() => window.vestige.graph.settled(), null, { timeout: 60000 });
  return best.nodes;
}

const browser = await playwright.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const out = [];
try {
  for (const [width, height] of SIZES) {
    const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: 1 });
    await page.goto(`file://${redirect}`);
    await page.waitForFunction(() => window.vestige && window.vestige.graph.frames > 0, null, { timeout: 60000 });
    const nodes = await crowded(page);
    const frames = await page.evaluate((nr) => {
      const { graph } = window.vestige, g = document.querySelector("canvas").getContext("2d");
      return Array.from({ length: nr }, () => {
        const begun = performance.now();
        graph.draw();
        g.getImageData(0, 0, 1, 1); // waits until all is painted
        return performance.now() - begun;
      });
    }, FRAMES);
    out.push({ width, height, nodes, frames, bytes: rendererBytes() });
    await page.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(out));
