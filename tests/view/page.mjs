// SPDX-License-Identifier: MIT
// The page of `vestige view` in a browser: each thing that a person can do is done, and looked at.
//	node page.mjs NODE_MODULES CHROMIUM PAGE.html REDIRECT.html
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, chromium, file, redirect] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const browser = await require("playwright-core").chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const problems = [];

async function open(url, size = { width: 1366, height: 768 }) {
  const page = await browser.newPage({ viewport: size, deviceScaleFactor: 1 });
  page.on("pageerror", (e) => problems.push(e.message));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !m.text().includes("willReadFrequently") && problems.push(m.text()));
  await page.goto(url);
  await page.waitForFunction(() => window.vestige && window.vestige.graph.frames > 0 && window.vestige.graph.settled());
  return page;
}

const settle = (page) => page.waitForFunction(() => window.vestige.graph.settled());
const range = (page) => page.evaluate(() => window.vestige.graph.range);
// Where a span of this name is on the screen: the widest one that is drawn by itself.
const place = (page, name, kind = "calls") =>
  page.evaluate(([name, kind]) => {
    const { graph, info } = window.vestige, box = document.querySelector("canvas").getBoundingClientRect();
    let best = null;
    for (const line of graph.lines) {
      if (info.tracks[line.track].kind !== kind) continue;
      const y = line.top - graph.scroll + line.height / 2;
      if (y < 30 || y > box.height - 4) continue;
      for (let x = 2; x < box.width - 2; x += 1) {
        const span = graph.spanAt(x, y);
        if (span && info.names[span.name] === name && span.count === 1 && (!best || span.length > best.span.length))
          best = { x: box.left + x + 1, y: box.top + y, span };
      }
    }
    return best;
  }, [name, kind]);
const chosen = (page) => page.evaluate(() => window.vestige.graph.chosen);
const text = (page, selector) => page.locator(selector).innerText();

const tests = {
  async the_address_loses_its_token() {
    const page = await open(`file://${redirect}`);
    const url = new URL(page.url());
    assert.equal(url.hostname, "127.0.0.1");
    assert.ok(!page.url().includes("token"), page.url());
    await page.reload();
    await page.waitForFunction(() => window.vestige);
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await page.waitForFunction(() => document.getElementById("app").textContent.includes("open the address that it printed"));
    problems.length = 0; // the refused request
    await page.close();
  },

  async the_file_answers_as_the_server() {
    const [a, b] = [await open(`file://${redirect}`), await open(`file://${file}`)];
    const ask = (page) =>
      page.evaluate(async () => {
        const { source, info } = window.vestige, out = [];
        const rows = info.tracks.flatMap((t, i) => t.rows.map((_, row) => [i, row]));
        const { path, ...rest } = info;
        out.push(rest);
        for (const [from, to] of [[0, info.duration + 1], [info.duration * 0.3, info.duration * 0.31], [info.duration * 0.9, info.duration]]) {
          out.push(await source.spans(rows, from, to, 0));
          out.push((await source.table(from, to, [])).sort((p, q) => p[0] - q[0]));
          const flame = await source.flame(from, to, []);
          const path = (i) => (i ? path(flame[i - 1][0]) + "/" + flame[i - 1][1] : "");
          out.push(flame.map((r, i) => [path(i + 1), ...r.slice(2)]).sort());
          // what is drawn together may differ at the edges of a pixel, and in sum does not
          const drawn = await source.spans(rows, from, to, (to - from) / 1000);
          out.push(drawn.map((r) => { let nr = 0; for (let i = 0; i < r.length; i += 7) nr += r[i + 3]; return nr; }));
          out.push(await source.number(from));
          out.push(await source.list(await source.number(from), 50));
        }
        for (let name = 0; name < info.names.length; name++) out.push(await source.function(name));
        for (const at of [-1, 100, info.list - 1]) for (const back of [false, true]) out.push(await source.find("FIB", at, back));
        return out;
      });
    const [server, local] = [await ask(a), await ask(b)];
    for (let i = 0; i < server.length; i++) assert.deepEqual(local[i], server[i], `answer ${i}`);
    await a.close();
    await b.close();
  },

  async calls_are_drawn_where_they_are() {
    const page = await open(`file://${file}`);
    const at = await place(page, "main");
    assert.ok(at);
    const colours = await page.evaluate(([x, y]) => {
      const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
      const pixel = (x, y) => [...canvas.getContext("2d").getImageData(x - box.left, y - box.top, 1, 1).data].join();
      return [pixel(x, y), pixel(x - 6, y), pixel(x, 26)];
    }, [at.x + 40, at.y - 6]);
    assert.notEqual(colours[0], colours[2]);
    await page.close();
  },

  async wheel_drag_and_keys_move() {
    const page = await open(`file://${file}`);
    const whole = await range(page);
    const length = (r) => r.to - r.from;
    await page.mouse.move(800, 300);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await page.keyboard.up("Control");
    await settle(page);
    const near = await range(page);
    assert.ok(length(near) < length(whole) * 0.9);
    await page.mouse.down();
    await page.mouse.move(700, 300, { steps: 3 });
    await page.mouse.up();
    assert.ok((await range(page)).from > near.from);
    assert.ok(Math.abs(length(await range(page)) - length(near)) < 10);
    for (const [key, test] of [["w", (a, b) => length(b) < length(a)], ["s", (a, b) => length(b) > length(a)], ["a", (a, b) => b.from < a.from],
      ["d", (a, b) => b.from > a.from], ["ArrowLeft", (a, b) => b.from < a.from], ["+", (a, b) => length(b) < length(a)], ["-", (a, b) => length(b) > length(a)]]) {
      const before = await range(page);
      await page.keyboard.press(key);
      assert.ok(test(before, await range(page)), key);
    }
    await page.keyboard.press("0");
    assert.ok(Math.abs(length(await range(page)) - length(whole)) < 2);
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.ok(length(await range(page)) < length(whole));
    await settle(page);
    assert.match(page.url(), /#t=-?\d+-\d+$/);
    await page.reload();
    await page.waitForFunction(() => window.vestige);
    assert.ok(length(await range(page)) < length(whole)); // the address says what is shown
    await page.close();
  },

  async a_click_chooses_in_graph_and_list() {
    const page = await open(`file://${file}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.waitForSelector(".line.chosen");
    assert.equal((await chosen(page)).start, at.span.start);
    assert.match(await text(page, ".facts"), /thread/);
    assert.match(await text(page, ".line.chosen"), /thread/);
    assert.match(await text(page, ".marks"), /^A \d+\.\d{9}$/);
    await page.keyboard.press("m");
    await page.mouse.click(at.x + 50, 12 + (await page.locator("canvas").boundingBox()).y);
    assert.match(await text(page, ".marks"), /B − A /);
    // the other way: a line of the list
    const line = page.locator(".rows .line").nth(2);
    await line.click();
    const span = await chosen(page);
    assert.match(await text(page, ".line.chosen"), new RegExp(await page.evaluate((n) => window.vestige.info.names[n], span.name)));
    await page.locator(".rows").focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((before) => window.vestige.graph.chosen.start !== before, span.start);
    await page.keyboard.press("Escape");
    assert.equal(await chosen(page), null);
    await page.close();
  },

  async a_double_click_zooms() {
    const page = await open(`file://${file}`);
    const at = await place(page, "thread");
    await page.mouse.dblclick(at.x, at.y);
    const r = await range(page);
    assert.ok(Math.abs(r.to - r.from - at.span.length * 1.2) < 10 + at.span.length * 0.01);
    await page.keyboard.press("Escape");
    await page.close();
  },

  async the_card_tells_what_is_pointed_at() {
    const page = await open(`file://${file}`);
    const at = await place(page, "main");
    await page.mouse.move(at.x + 3, at.y);
    await page.waitForSelector(".card");
    assert.match(await text(page, ".card"), /main/);
    await page.mouse.move(400, 4);
    await page.waitForSelector(".card", { state: "detached" });
    await page.close();
  },

  async search_goes_forth_and_back() {
    const page = await open(`file://${file}`);
    await page.keyboard.press("/");
    await page.keyboard.type("jump");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /^1 of \d+$/.test(document.querySelector(".found").textContent));
    await page.getByRole("button", { name: "Next match" }).click();
    await page.waitForFunction(() => /^2 of /.test(document.querySelector(".found").textContent));
    await page.getByRole("button", { name: "Previous match" }).click();
    await page.waitForFunction(() => /^1 of /.test(document.querySelector(".found").textContent));
    assert.match(await text(page, ".line.chosen"), /jump/);
    const first = await chosen(page);
    await page.locator("canvas").focus();
    await page.keyboard.press("n");
    await page.waitForFunction((s) => window.vestige.graph.chosen.start > s, first.start);
    await page.keyboard.press("p");
    await page.waitForFunction((s) => window.vestige.graph.chosen.start === s, first.start);
    await page.getByLabel("Search names and texts").fill("no such name");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".found").textContent === "none");
    await page.close();
  },

  async a_range_has_functions_and_flame_graph() {
    const page = await open(`file://${redirect}`);
    const at = await place(page, "main");
    await page.keyboard.down("Shift");
    await page.mouse.move(at.x + 5, at.y);
    await page.mouse.down();
    await page.mouse.move(at.x + 300, at.y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForSelector(".functions tbody tr");
    const area = await page.evaluate(() => window.vestige.graph.area);
    const rows = await page.evaluate(async (a) => window.vestige.source.table(a.from, a.to, []), area);
    assert.equal(await page.locator(".functions tbody tr").count(), Math.min(500, rows.length));
    await page.getByRole("button", { name: "Calls" }).click();
    const calls = await page.locator(".functions tbody tr td:nth-child(2)").allInnerTexts();
    assert.deepEqual(calls.map(Number), rows.map((r) => r[1]).sort((a, b) => b - a).slice(0, 500));
    await page.locator(".functions tbody tr").first().click();
    assert.notEqual(await page.evaluate(() => window.vestige.graph.lit), null);
    await page.getByRole("tab", { name: "Flame graph" }).click();
    await page.waitForSelector(".flame .box >> nth=1");
    const width = (name) => page.locator(".flame .box", { hasText: new RegExp(`^${name}$`) }).first().evaluate((e) => parseFloat(e.style.width));
    assert.equal(await width("all"), 100);
    const before = await width("thread");
    await page.locator(".flame .box", { hasText: /^thread$/ }).first().click();
    assert.equal(await width("thread"), 100);
    assert.ok(before < 100);
    await page.keyboard.press("f");
    const r = await range(page);
    assert.ok(r.from <= area.from && r.to >= area.to && r.to - r.from < (area.to - area.from) * 1.2, JSON.stringify([r, area]));
    await page.close();
  },

  async all_calls_of_a_function() {
    const page = await open(`file://${file}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.waitForSelector(".buckets tr");
    assert.match(await text(page, ".panel .hint >> nth=0"), /^2 calls of thread: p50 /);
    await page.locator(".longest button").nth(1).click();
    const lengths = await page.evaluate(async (n) => (await window.vestige.source.function(n)).longest.map((l) => l[1]), at.span.name);
    assert.equal((await chosen(page)).length, lengths[1]);
    assert.ok(lengths[0] >= lengths[1]);
    await page.close();
  },

  async sql_in_the_page() {
    const page = await open(`file://${redirect}`);
    await page.getByRole("tab", { name: "SQL" }).click();
    await page.locator(".sql textarea").fill("SELECT start, duration, name FROM slices WHERE name = 'jump' ORDER BY start LIMIT 3");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForSelector(".sql tbody tr");
    assert.equal(await page.locator(".sql tbody tr").count(), 3);
    await page.locator(".sql tbody tr").first().click();
    const r = await range(page);
    assert.ok(r.to - r.from < 1e7);
    await page.locator(".sql textarea").fill("SELECT * FROM sqlite_master");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForSelector(".sql [role=alert]");
    assert.match(await text(page, ".sql [role=alert]"), /only SELECT of the tables/);
    await page.close();
    const alone = await open(`file://${file}`);
    await alone.getByRole("tab", { name: "SQL" }).click();
    assert.match(await text(alone, ".panel .body"), /no server/);
    await alone.close();
  },

  async the_list_goes_to_its_end() {
    const page = await open(`file://${redirect}`);
    const nr = await page.evaluate(() => window.vestige.info.list);
    await page.locator(".rows").evaluate((e) => (e.scrollTop = e.scrollHeight));
    await page.waitForFunction((nr) => [...document.querySelectorAll(".rows .line")].some((l) => l.firstChild.textContent === String(nr - 1)), nr);
    await page.close();
  },

  async tracks_are_filtered_and_scrolled() {
    const page = await open(`file://${file}`, { width: 1000, height: 420 });
    const all = await page.evaluate(() => window.vestige.graph.lines.length);
    await page.getByLabel("Show only tracks with this text").fill("CPU");
    await page.waitForFunction((all) => window.vestige.graph.lines.length < all, all);
    assert.ok((await page.locator(".label").allInnerTexts()).every((t) => t.includes("CPU")));
    await page.getByLabel("Show only tracks with this text").fill("");
    await page.waitForFunction((all) => window.vestige.graph.lines.length === all, all);
    await page.mouse.move(600, 150);
    await page.mouse.wheel(0, 120);
    await page.waitForFunction(() => window.vestige.graph.scroll > 0);
    await page.close();
  },

  async hollow_boxes_are_delays() {
    const page = await open(`file://${file}`);
    // zoom to a state that was no run: its middle is paper, its edge is green or red
    const found = await page.evaluate(async () => {
      const { graph, info, source } = window.vestige;
      for (const [i, track] of info.tracks.entries()) {
        if (track.kind !== "states") continue;
        const [blocks] = await source.spans([[i, 0]], 0, info.duration + 1, 0);
        for (let k = 0; k < blocks.length; k += 7) {
          const name = info.names[blocks[k + 2]];
          if ((name === "woken" || name === "preempted") && blocks[k + 1] > 100) {
            graph.show(blocks[k] - blocks[k + 1], blocks[k] + 2 * blocks[k + 1]);
            graph.reveal(blocks[k], i, 0);
            return { name, line: graph.lines.find((l) => l.track === i) };
          }
        }
      }
      return null;
    });
    assert.ok(found);
    await settle(page);
    const [edge, middle] = await page.evaluate((line) => {
      const { graph } = window.vestige, canvas = document.querySelector("canvas"), g = canvas.getContext("2d");
      const y = line.top - graph.scroll + Math.floor(line.height / 2), x = Math.floor(canvas.width / 3);
      const strongest = [];
      for (let dx = -2; dx <= 3; dx++) strongest.push([...g.getImageData(x + dx, y, 1, 1).data]);
      return [strongest, [...g.getImageData(Math.floor(canvas.width / 2), y, 1, 1).data]];
    }, found.line);
    const green = edge.some(([r, gr]) => gr > r + 40), red = edge.some(([r, gr]) => r > gr + 40);
    assert.ok(found.name === "woken" ? green : red, JSON.stringify(edge));
    assert.ok(Math.min(...middle.slice(0, 3)) > 200);
    await page.close();
  },

  async nobody_is_locked_out() {
    const page = await open(`file://${redirect}`);
    await page.keyboard.press("?");
    assert.match(await text(page, ".help"), /zoom in and out/);
    for (const dark of [false, true]) {
      if (dark) await page.getByRole("button", { name: "Dark" }).click();
      const found = await page.evaluate(async (axe) => {
        // as a debugger does it, which the page's policy does not bind
        new Function(axe);
        return null;
      }, "").catch(() => null);
      assert.equal(found, null);
    }
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Page.setBypassCSP", { enabled: true });
    await cdp.send("Runtime.evaluate", { expression: axe });
    problems.length = 0; // the policy refused the script above, as it must
    for (const name of ["Light", "Dark"]) {
      const answer = await cdp.send("Runtime.evaluate", {
        expression: "axe.run().then((r) => JSON.stringify(r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => [v.id, v.nodes[0].html])))",
        awaitPromise: true, returnByValue: true,
      });
      assert.deepEqual(JSON.parse(answer.result.value), []);
      await page.getByRole("button", { name, exact: true }).click();
    }
    await page.close();
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    problems.length = 0;
    await test();
    assert.deepEqual(problems, []);
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
