// SPDX-License-Identifier: MIT
// The page of `vestige view` in a browser: each action of a user is done, and its result is
// checked.
//	node page.mjs NODE_MODULES CHROMIUM PAGE.html REDIRECT.html TWO_FILES.html
//		HOST_AND_GUEST.html LOST.html [TEST ...]
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [modules, chromium, file, redirect, two, guests, gaps, ...only] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const browser = await require("playwright-core").chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const problems = [];

async function open(url, size = { width: 1366, height: 1000 }) {
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
const place = async (page, name, kind = "calls") => {
  // it may be below the screen
  await page.evaluate(([name, kind]) => {
    const { graph, info, source } = window.vestige, at = info.names.indexOf(name);
    const lines = graph.lines.filter((l) => info.tracks[l.track]?.kind === kind);
    return source.spans(lines.map((l) => [l.track, l.row]), 0, info.duration + 1, 0).then((all) => {
      const i = all.findIndex((b) => { for (let k = 2; k < b.length; k += 7) if (b[k] === at) return true; });
      if (i >= 0) graph.reveal((graph.range.from + graph.range.to) / 2, lines[i].track, lines[i].row);
    });
  }, [name, kind]);
  await settle(page);
  return page.evaluate(([name, kind]) => {
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
};
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
          // blocks may differ at the edges of a pixel; their sum does not
          const drawn = await source.spans(rows, from, to, (to - from) / 1000);
          out.push(drawn.map((r) => { let nr = 0; for (let i = 0; i < r.length; i += 7) nr += r[i + 3]; return nr; }));
          out.push(await source.number(from));
          out.push(await source.list(await source.number(from), 50));
        }
        for (let name = 0; name < info.names.length; name++) out.push(await source.function(name, 0, 1e15), await source.function(name, info.duration * 0.2, info.duration * 0.5));
        for (const steps of ["event has FIB", "info has pid", "task has p\nevent glob f*\nand", "cpu eq 0", "cpu lt 1", ".prev_pid ne 0", ".prev_pid gt 1\nnot", "length ge 1000\nevent glob *:*\nor", "latency has .", "pid lacks 1", "time le 1000000"])
          for (const [from, to] of [[0, info.list], [100, 200]]) out.push(await source.find(steps, from, to));
        out.push((await source.flame(0, info.duration + 1, [], true)).map((r) => r.slice(1).join()).sort());
        for (const steps of ["event glob sched:*", "pid eq " + info.tracks.find((t) => t.kind === "calls").id, "cpu ne 0\nevent eq fib\nand"]) {
          const f = source.filtered(steps);
          out.push(await f.spans(rows, 0, info.duration + 1, 0), await f.number(1e15), await f.list(0, 200));
        }
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
    const inAddress = () => page.waitForFunction(() => location.hash === `#t=${Math.round(window.vestige.graph.range.from)}-${Math.round(window.vestige.graph.range.to)}`);
    await inAddress();
    const before = await range(page);
    await page.keyboard.press("0");
    await inAddress();
    await page.goBack();
    await page.waitForFunction((from) => Math.abs(window.vestige.graph.range.from - from) < 2, before.from);
    await inAddress();
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

  async the_card_shows_the_span_under_the_pointer() {
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
    await page.getByLabel("Column to search").selectOption("task");
    const task = await page.evaluate(() => window.vestige.info.tracks.find((t) => t.kind === "calls").name);
    for (const [what, how, steps] of [[task, "is", `task eq ${task}`], [task, "lacks", `task lacks ${task}`], ["no such task", "contains", "task has no such task"]]) {
      const nr = await page.evaluate(async (s) => (await window.vestige.source.find(s, 0, window.vestige.info.list))[0], steps);
      await page.getByLabel("How it is to match").selectOption(how);
      await page.getByLabel("Search names and texts").fill(what);
      await page.keyboard.press("Enter");
      await page.waitForFunction((nr) => (nr ? document.querySelector(".found").textContent.endsWith(` of ${nr}`) : document.querySelector(".found").textContent === "none"), nr);
    }
    await page.getByLabel("Column to search").selectOption("expression");
    await page.getByLabel("Search names and texts").fill("event == sched_switch && prev_pid > 0");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => / of /.test(document.querySelector(".found").textContent));
    await page.getByLabel("Search names and texts").fill("event ==");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".problem");
    await page.getByLabel("Column to search").selectOption("any");
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
    await page.getByRole("button", { name: "Calls", exact: true }).click();
    const calls = await page.locator(".functions tbody tr td:nth-child(2)").allInnerTexts();
    assert.deepEqual(calls.map(Number), rows.map((r) => r[1]).sort((a, b) => b - a).slice(0, 500));
    await page.locator(".functions tbody tr").first().click();
    assert.equal(await page.evaluate(() => typeof window.vestige.graph.highlighted), "function");
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
    assert.match(await page.locator(".panel .hint", { hasText: "p50" }).innerText(), /^2 calls of thread: p50 /);
    await page.locator(".longest button").nth(1).click();
    const lengths = await page.evaluate(async (n) => (await window.vestige.source.function(n, 0, 1e15)).longest.map((l) => l[1]), at.span.name);
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

  async lost_records_are_red_lines() {
    const page = await open(`file://${gaps}`);
    const lost = await page.evaluate(() => window.vestige.info.lost);
    console.log(`lost ${JSON.stringify(lost)}`);
    const known = lost.reduce((sum, [, , nr]) => sum + Math.max(0, nr), 0);
    assert.match(await text(page, "#app"), new RegExp(`lost in ${lost.length} places \\(at least ${known}\\): red lines`));
    // each has a line from the top to the bottom, and a box at its CPU
    for (const [ts, cpu] of [lost[0], lost[lost.length - 1]]) {
      await page.evaluate((ts) => window.vestige.graph.show(ts - 1000, ts + 1000), ts);
      await settle(page);
      const seen = await page.evaluate(([ts, cpu]) => {
        const { graph } = window.vestige, canvas = document.querySelector("canvas"), g = canvas.getContext("2d");
        const red = (x, y) => { const [r, gr, b] = g.getImageData(x, y, 1, 1).data; return r > gr + 90 && r > b + 90; };
        const x = Math.round(graph.x(ts));
        let line = 0, beside = 0;
        for (let y = 24; y < canvas.height; y++) (line += red(x, y)), (beside += red(x + 30, y));
        const row = graph.lines.find((l) => graph.tracks[l.track].kind === "cpu-events" && graph.tracks[l.track].id === cpu);
        const middle = row && row.top - graph.scroll + Math.floor(row.height / 2);
        return { line: line / (canvas.height - 24), beside: beside / (canvas.height - 24), box: row ? [-3, -2, 2, 3].every((dx) => red(x + dx, middle)) : null };
      }, [ts, cpu]);
      assert.ok(seen.line > 0.4 && seen.beside < 0.2, JSON.stringify(seen));
      assert.notEqual(seen.box, false);
    }
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

  async filters_for_graph_and_list() {
    for (const url of [file, redirect]) {
      const page = await open(`file://${url}`);
      const all = await page.evaluate(() => window.vestige.info.list);
      const expected = await page.evaluate(async () => (await window.vestige.source.find("event eq sched:sched_switch", 0, window.vestige.info.list))[0]);
      assert.ok(expected > 0 && expected < all);
      await page.getByLabel("Filter expression").fill("event == sched_switch");
      await page.keyboard.press("Enter");
      await page.waitForFunction((nr) => window.vestige.viewer.listLength === nr, expected);
      await page.waitForFunction(() => [...document.querySelectorAll(".rows .line")].every((l) => l.children[6].textContent === "sched:sched_switch"));
      await settle(page);
      const drawn = () => page.evaluate(() => {
        const { graph } = window.vestige;
        return [...graph.loaded.rows].filter(([k]) => graph.tracks[k.split(".")[0]].kind === "calls").reduce((nr, [, b]) => nr + b.length, 0);
      });
      assert.ok((await drawn()) > 0);
      await page.getByLabel("graph", { exact: true }).check();
      await page.waitForFunction(() => window.vestige.graph.settled() && window.vestige.graph.loaded);
      assert.equal(await drawn(), 0); // no calls are left in the graph
      await page.getByLabel("list", { exact: true }).uncheck();
      await page.waitForFunction((nr) => window.vestige.viewer.listLength === nr, all);
      await page.getByLabel("Filter expression").fill("event ==");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".problem");
      assert.match(await text(page, ".problem"), /no value behind/);
      await page.close();
    }
  },

  async filters_by_lists() {
    const page = await open(`file://${file}`);
    await page.getByLabel("Choose events, threads and CPUs").click();
    const events = page.locator(".dialog fieldset").first();
    await events.getByRole("button", { name: "None" }).click();
    await events.getByLabel("sched:sched_switch").check();
    await page.getByRole("button", { name: "Apply" }).click();
    assert.equal(await page.getByLabel("Filter expression").inputValue(), "event == sched:sched_switch");
    await page.waitForFunction(() => [...document.querySelectorAll(".rows .line")].every((l) => l.children[6].textContent === "sched:sched_switch"));
    await page.close();
  },

  async menus_of_graph_and_list() {
    const page = await open(`file://${file}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y, { button: "right" });
    await page.getByRole("menuitem", { name: "Hide thread", exact: true }).click();
    assert.equal(await page.getByLabel("Filter expression").inputValue(), "event != thread");
    await page.waitForFunction(() => window.vestige.viewer.listLength < window.vestige.info.list);
    await page.locator(".rows .line").nth(1).click({ button: "right" });
    await page.getByRole("menuitem", { name: "No filter" }).click();
    await page.waitForFunction(() => window.vestige.viewer.listLength === window.vestige.info.list);
    const lines = await page.evaluate(() => (window.vestige.graph.scrollTo(0), window.vestige.graph.lines.length));
    await settle(page);
    const now = await place(page, "thread");
    await page.mouse.click(now.x, now.y, { button: "right" });
    await page.getByRole("menuitem", { name: "Pin this track" }).click();
    assert.ok((await page.evaluate(() => window.vestige.graph.lines[0].pinned)));
    await page.locator(".label.pinned").first().click({ button: "right" });
    await page.getByRole("menuitem", { name: "Hide this track" }).click();
    assert.ok((await page.evaluate(() => window.vestige.graph.lines.length)) < lines);
    await page.getByRole("button", { name: "Tracks…" }).click();
    await page.locator(".dialog fieldset", { hasText: "Threads" }).getByRole("button", { name: "All" }).click();
    assert.equal(await page.evaluate(() => window.vestige.graph.lines.length), lines);
    await page.locator(".dialog fieldset", { hasText: "CPUs" }).getByRole("button", { name: "None" }).click();
    assert.equal(await page.locator(".label.cpu").count(), 0);
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.vestige.graph.scrollTo(0));
    const groups = await page.locator(".group").count();
    await page.locator(".group", { hasText: "process" }).first().click();
    assert.ok((await page.evaluate(() => window.vestige.graph.lines.length)) < lines);
    await page.keyboard.press("g");
    assert.equal(await page.locator(".group").count(), 0);
    assert.ok(groups > 1);
    await page.close();
  },

  async plots_of_latency_fields_calls_and_locks() {
    const page = await open(`file://${redirect}`);
    const plots = () => page.evaluate(() => window.vestige.graph.tracks.filter((t) => t.plot).map((t) => [t.plot.title, t.plot.shape, t.plot.rows.reduce((n, r) => n + r.start.length, 0)]));
    await page.getByRole("button", { name: "Add plot…" }).click();
    await page.getByRole("button", { name: "Add latency" }).click();
    await page.waitForFunction(() => window.vestige.graph.tracks.some((t) => t.plot));
    // the pairs, worked out from the list by hand
    const pairs = await page.evaluate(async () => {
      const { source, info } = window.vestige, open = {}, out = [];
      for (const e of await source.list(0, info.list)) {
        if (e[8] === undefined) continue;
        const name = info.names[e[2]], of = (f) => (new RegExp(`\\b${f}=(\\d+)`).exec(e[8]) || [])[1];
        if (name === "sched:sched_waking") open[of("pid")] = e[0];
        if (name === "sched:sched_switch" && of("next_pid") in open) {
          out.push(e[0] - open[of("next_pid")]);
          delete open[of("next_pid")];
        }
      }
      return out.sort((a, b) => a - b);
    });
    const lengths = await page.evaluate(() => window.vestige.graph.tracks.find((t) => t.plot).plot.rows.flatMap((r) => r.length).sort((a, b) => a - b));
    assert.ok(pairs.length > 0);
    assert.deepEqual(lengths, pairs);
    await page.getByRole("button", { name: "Add plot…" }).click();
    await page.getByRole("button", { name: "Add field" }).click();
    await page.waitForFunction(() => window.vestige.graph.tracks.filter((t) => t.plot).length === 2);
    await page.getByRole("button", { name: "Add plot…" }).click();
    await page.getByLabel("function", { exact: true }).fill("fib");
    await page.getByRole("button", { name: "Add heat map" }).click();
    await page.waitForFunction(() => window.vestige.graph.tracks.filter((t) => t.plot).length === 3);
    const fibs = await page.evaluate(async () => (await window.vestige.source.find("event eq fib", 0, window.vestige.info.list))[0]);
    assert.equal((await plots())[2][2], fibs);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("waits for locks");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.vestige.graph.tracks.some((t) => t.plot && t.plot.title.startsWith("waits for lock")));
    const waits = await page.evaluate(async () => (await window.vestige.source.find("event eq lock:contention_end", 0, window.vestige.info.list))[0]);
    assert.equal((await plots()).filter(([t]) => t.startsWith("waits")).reduce((n, p) => n + p[2], 0), waits);
    // they are on the screen
    const shown = await page.evaluate(() => {
      const { graph } = window.vestige, g = document.querySelector("canvas").getContext("2d");
      return graph.lines.filter((l) => graph.tracks[l.track].plot).map((l) => {
        const { data } = g.getImageData(0, graph.y(l) + 1, document.querySelector("canvas").width, l.height - 3);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
        return seen.size;
      });
    });
    assert.ok(shown.every((colours) => colours > 1), JSON.stringify(shown));
    await page.evaluate(() => {
      const { viewer, graph } = window.vestige, track = graph.tracks.findIndex((t) => t.plot), { start, length, name } = graph.tracks[track].plot.rows[0];
      viewer.goTo({ track, row: 0, start: start[0], length: length[0], name: name[0], count: 1, which: 0, extra: 0 });
    });
    await page.waitForSelector(".longest button");
    await page.locator(".longest button").first().click();
    assert.equal((await chosen(page)).length, pairs[pairs.length - 1]);
    await page.close();
  },

  async holders_of_locks() {
    const page = await open(`file://${redirect}`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("holders of locks");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.vestige.graph.tracks.some((t) => t.plot && t.plot.title.startsWith("holders of lock")));
    // worked out from the list by hand: no two threads hold the mutex at once, and a wait ends when
    // its thread gets it
    const [held, made] = await page.evaluate(async () => {
      const { source, info, graph } = window.vestige, open = {}, held = {};
      for (const e of await source.list(0, info.list)) {
        if (e[8] === undefined || !/^lock:lock_(acquired|release)$/.test(info.names[e[2]])) continue;
        const lock = e[8].split(" ")[0], key = `${info.tracks[e[3]].id} ${lock}`;
        if (info.names[e[2]] === "lock:lock_acquired") open[key] = e[0];
        else if (key in open) {
          (held[lock] ||= []).push([open[key], e[0] - open[key], info.tracks[e[3]].id]);
          delete open[key];
        }
      }
      const made = graph.tracks.filter((t) => t.plot && t.plot.title.startsWith("holders")).map(({ plot }) => [plot.title.split(" ").pop(), plot.rows.length,
        plot.rows.flatMap((r) => r.start.map((s, i) => [s, r.length[i], Number(plot.names[r.name[i]].split("-").pop())]))]);
      return [held, made];
    });
    assert.ok(made.length > 0 && made.length === Object.keys(held).length);
    for (const [lock, rows, spans] of made) {
      assert.equal(rows, 1, "one thread at a time");
      assert.deepEqual(spans, held[lock]);
    }
    assert.ok(Math.max(...made.map(([, , spans]) => new Set(spans.map((s) => s[2])).size)) > 1);
    await page.close();
  },

  async an_answer_of_sql_is_a_track() {
    const page = await open(`file://${redirect}`);
    await page.getByRole("tab", { name: "SQL" }).click();
    await page.locator(".sql textarea").fill("SELECT start, duration, name FROM slices WHERE name = 'thread' ORDER BY start");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Show as a track" }).click();
    await page.waitForFunction(() => window.vestige.graph.tracks.some((t) => t.plot));
    await settle(page);
    const [made, calls] = await page.evaluate(async () => {
      const { graph, info, source } = window.vestige, t = graph.tracks.find((t) => t.plot), of = await source.find("event eq thread", 0, info.list);
      return [t.plot.rows.flatMap((r) => r.start.map((s, i) => [s, r.length[i], t.plot.names[r.name[i]]])), of[0]];
    });
    assert.ok(made.length === calls && made.every(([, length, name]) => length > 0 && name === "thread"), JSON.stringify(made));
    assert.ok(await page.evaluate(() => window.vestige.graph.lines.some((l) => window.vestige.graph.tracks[l.track].plot)));
    await page.close();
  },

  async two_files_beside_each_other() {
    const page = await open(`file://${two}`);
    assert.equal(await page.evaluate(() => window.vestige.info.files.length), 2);
    await page.getByRole("tab", { name: "Compare" }).click();
    await page.waitForSelector(".diff tbody tr");
    const sums = await page.evaluate(async () => {
      const { source, info } = window.vestige, out = [];
      for (const file of [0, 1]) {
        const calls = info.tracks.flatMap((t, i) => (t.kind === "calls" && t.file === file ? [i] : []));
        out.push((await source.table(0, info.duration + 1, calls)).find((r) => info.names[r[0]] === "fib")[1]);
      }
      return out;
    });
    assert.ok(sums[0] !== sums[1]);
    const cells = await page.locator(".diff tbody tr", { hasText: "fib" }).first().locator("td").allInnerTexts();
    assert.deepEqual(cells.slice(4).map(Number), sums);
    await page.close();
  },

  async a_guests_cpus_beside_the_threads() {
    const page = await open(`file://${guests}`);
    const groups = await page.evaluate(() => {
      const { graph } = window.vestige, out = [];
      for (const head of graph.layout.groups.filter((h) => h.key.startsWith("vcpu"))) {
        const next = graph.layout.groups.find((h) => h.top > head.top);
        out.push([head.title, graph.lines.filter((l) => l.top > head.top && (!next || l.top < next.top)).map((l) => graph.tracks[l.track]).map((t) => [t.kind, t.file, t.id])]);
      }
      return out;
    });
    assert.deepEqual(groups.map(([title]) => title.replace(/[^ ]*\//g, "")), ["guest.dat: CPU 0, thread 26346 of host.dat", "guest.dat: CPU 1, thread 2440 of host.dat"]);
    for (const [cpu, [, tracks]] of groups.entries()) {
      assert.ok(tracks.some(([kind, file, id]) => kind === "cpu-events" && file === 1 && id === cpu), JSON.stringify(tracks));
      assert.ok(tracks.some(([kind, file, id]) => kind === "states" && file === 0 && id === [26346, 2440][cpu]), JSON.stringify(tracks));
      assert.ok(tracks.every(([kind, file]) => (file === 1) === kind.startsWith("cpu")));
    }
    await page.close();
  },

  async colours_are_tasks_and_cpus() {
    const page = await open(`file://${file}`);
    // of CPUs' rows a colour is a thread, of running threads a CPU: the same everywhere. Looked for
    // at the longest spans of each, when they are as wide as a third of the screen
    const longest = await page.evaluate(async () => {
      const { info, source } = window.vestige, out = [];
      for (const kind of ["cpu", "states"]) {
        const rows = info.tracks.flatMap((t, i) => (t.kind === kind ? t.rows.map((_, row) => [i, row]) : [])), of = {};
        for (const [nr, blocks] of (await source.spans(rows, 0, info.duration + 1, 0)).entries())
          for (let k = 0; k < blocks.length; k += 7)
            if (kind === "cpu" || info.names[blocks[k + 2]] === "running") (of[blocks[k + 6]] ||= []).push({ kind, track: rows[nr][0], row: rows[nr][1], start: blocks[k], length: blocks[k + 1], of: blocks[k + 6] });
        for (const spans of Object.values(of)) out.push(...spans.sort((p, q) => q.length - p.length).slice(0, 4));
      }
      return out;
    });
    const seen = [];
    for (const span of longest) {
      await page.evaluate(({ track, row, start, length }) => {
        window.vestige.graph.show(start - length, start + 2 * length);
        window.vestige.graph.reveal(start, track, row);
      }, span);
      await settle(page);
      seen.push(await page.evaluate(({ kind, track, row, start, length, of }) => {
        const { graph } = window.vestige, g = document.querySelector("canvas").getContext("2d"), line = graph.lines.find((l) => l.track === track && l.row === row);
        const x = Math.floor(graph.x(start + length / 2)), y = Math.floor(line.top - graph.scroll + 1); // above the names
        return [kind, of, [...g.getImageData(x, y, 1, 1).data].slice(0, 3).join(), graph.spanAt(x, y)?.extra];
      }, span));
    }
    assert.ok(seen.every(([, of, , shown]) => of === shown), JSON.stringify(seen));
    for (const kind of ["cpu", "states"]) {
      const colours = new Map();
      for (const [, of, colour] of seen.filter((s) => s[0] === kind)) colours.set(of, (colours.get(of) || new Set()).add(colour));
      assert.ok(seen.filter((s) => s[0] === kind).length > colours.size, `no ${kind} was seen twice`);
      for (const [of, set] of colours) assert.equal(set.size, 1, `${kind} ${of}: ${[...set].join(" ")}`);
      // there are fewer colours than threads
      assert.ok(colours.size < 4 || new Set([...colours.values()].map((set) => [...set][0])).size > 1, kind);
    }
    await page.close();
  },

  async a_search_is_stopped() {
    const page = await open(`file://${redirect}`);
    await page.evaluate(() => {
      const { source } = window.vestige, find = source.find.bind(source);
      // no answer comes before the search is stopped
      source.find = (...args) => new Promise((done) => document.addEventListener("answer", () => done(find(...args)), { once: true }));
    });
    await page.getByLabel("Search names and texts").fill("fib");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.waitForFunction(() => document.dispatchEvent(new Event("answer")) && ![...document.querySelectorAll("button")].some((b) => b.textContent === "Stop"));
    assert.match(await text(page, ".found"), /^stopped: \d+ so far$/);
    assert.equal(await chosen(page), null); // the match is not shown
    await page.close();
  },

  async no_page_may_frame_it() {
    const page = await browser.newPage(), url = /url=(http:[^#"]*)/.exec(readFileSync(redirect, "utf8"))[1];
    // a page that allows it is framed, ours is not
    const other = createServer(({ url }, answer) => {
      answer.setHeader("Content-Type", "text/html");
      answer.end(url.includes("?") ? `<iframe src="${decodeURIComponent(url.split("?")[1])}"></iframe>` : "x");
    }).listen(0, "127.0.0.1");
    await new Promise((done) => other.once("listening", done));
    const allows = `http://127.0.0.1:${other.address().port}/`;
    for (const [src, seen] of [[allows, new RegExp(`^${allows}`)], [url, /^chrome-error:/]]) {
      await page.goto(`${allows}?${encodeURIComponent(src)}`);
      let at = "";
      for (let i = 0; i < 300 && !seen.test(at); i++) {
        at = page.frames()[1]?.url() || "";
        await page.waitForTimeout(20);
      }
      assert.match(at, seen);
    }
    other.close();
    await page.close();
  },

  async nothing_moves_by_itself() {
    const page = await open(`file://${file}`);
    await page.emulateMedia({ reducedMotion: "reduce", colorScheme: "dark" });
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => {
      const s = getComputedStyle(e);
      return s.scrollBehavior !== "auto" || (s.transitionProperty !== "none" && parseFloat(s.transitionDuration) > 0) || s.animationName !== "none";
    }).map((e) => e.className));
    assert.deepEqual(moving, []);
    await page.close();
  },

  async wakers_and_the_critical_path() {
    const page = await open(`file://${file}`);
    // a delay after a wakeup has an arrow from the thread that woke
    const woken = await page.evaluate(async () => {
      const { info, source, viewer } = window.vestige;
      for (const [i, track] of info.tracks.entries()) {
        if (track.kind !== "states") continue;
        const [b] = await source.spans([[i, 0]], 0, info.duration + 1, 0);
        for (let k = 0; k < b.length; k += 7) {
          if (info.names[b[k + 2]] !== "woken") continue;
          const wakes = source.filtered(`event glob sched:sched_wak*\n.pid eq ${track.id}\nand`), at = await wakes.number(b[k] + 1);
          const [by] = at ? await wakes.list(at - 1, 1) : [];
          if (!by || by[0] !== b[k]) continue;
          viewer.goTo({ track: i, row: 0, start: b[k], length: b[k + 1], name: b[k + 2], count: 1, which: b[k + 5], extra: b[k + 6] });
          return { ts: by[0], by: info.tracks[by[3]].id };
        }
      }
      return null;
    });
    assert.ok(woken);
    await page.waitForFunction(() => window.vestige.graph.arrows.length === 1);
    const arrow = await page.evaluate(() => ({ ts: window.vestige.graph.arrows[0].from.ts, by: window.vestige.graph.tracks[window.vestige.graph.arrows[0].from.track].id }));
    assert.deepEqual(arrow, woken);
    // a time in which a thread was blocked and another one woke it goes through that one
    const blocked = await page.evaluate(async () => {
      const { info, source, viewer } = window.vestige;
      for (const [i, track] of info.tracks.entries()) {
        if (track.kind !== "states") continue;
        const [b] = await source.spans([[i, 0]], 0, info.duration + 1, 0);
        for (let k = 0; k < b.length; k += 7) {
          if (info.names[b[k + 2]] !== "blocked") continue;
          const by = await viewer.wakeups.waker(i, b[k] + b[k + 1]), next = by ? viewer.wakeups.statesOf(by[3]) : -1;
          if (next < 0 || next === i || by[0] <= b[k]) continue;
          viewer.goTo({ track: i, row: 0, start: b[k], length: b[k + 1], name: b[k + 2], count: 1, which: b[k + 5], extra: b[k + 6] });
          return { track: i, by: next, length: b[k + 1] };
        }
      }
      return null;
    });
    assert.ok(blocked);
    await page.locator("canvas").focus();
    await page.keyboard.press("c");
    await page.waitForSelector(".path");
    const path = await page.evaluate(() => window.vestige.viewer.path.pieces.map((p) => [p.track, p.from, p.to]));
    assert.ok(path.some((p) => p[0] === blocked.by), JSON.stringify([path, blocked]));
    for (let i = 1; i < path.length; i++) assert.ok(path[i][1] >= path[i - 1][2], "pieces do not overlap");
    assert.ok(path.reduce((n, [, from, to]) => n + to - from, 0) <= blocked.length);
    await page.close();
  },

  async call_tree_and_its_transforms() {
    const page = await open(`file://${redirect}`);
    await page.getByRole("tab", { name: "Call tree" }).click();
    await page.waitForSelector(".tree tbody tr");
    const cells = (row) => page.locator(".tree tbody tr", { hasText: row }).first().locator("td").allInnerTexts();
    const names = async () => (await page.locator(".tree tbody tr td:first-child").allInnerTexts()).map((t) => t.replace(/[▾▸\s]/g, ""));
    assert.ok((await names()).includes("main"));
    await page.getByLabel("invert").check();
    await page.waitForFunction(() => [...document.querySelectorAll(".tree tbody td:first-child")].some((td) => td.textContent.includes("fib")));
    const table = await page.evaluate(async () => {
      const { source, info } = window.vestige, rows = await source.table(0, info.duration + 1, []);
      return rows.find((r) => info.names[r[0]] === "fib");
    });
    assert.equal((await cells("fib"))[4], String(table[1])); // all calls of it
    await page.getByLabel("invert").uncheck();
    await page.locator(".tree tbody tr", { hasText: "thread" }).first().click();
    assert.equal(await page.evaluate(() => window.vestige.viewer.highlightedName), "thread");
    await page.getByRole("button", { name: "Focus" }).click();
    assert.equal((await names())[0], "thread");
    await page.getByRole("button", { name: /focus thread/ }).click();
    await page.locator(".tree tbody tr", { hasText: "thread" }).first().click();
    await page.getByRole("button", { name: "Merge" }).click();
    assert.ok(!(await names()).includes("thread") && (await names()).includes("fib"));
    await page.locator(".tree tbody tr", { hasText: "fib" }).first().click();
    await page.getByRole("button", { name: "Collapse recursion" }).click();
    await page.getByRole("tab", { name: "Flame graph" }).click();
    await page.getByLabel("time off the CPU").check();
    await page.waitForFunction(() => document.querySelectorAll(".flame .box").length > 1);
    const off = await page.evaluate(async () => {
      const { source, info } = window.vestige, rows = await source.flame(0, info.duration + 1, [], true);
      return rows.filter((r) => r[0] === 0).reduce((n, r) => n + r[3], 0);
    });
    assert.ok(off > 0);
    await page.close();
  },

  async two_ranges_beside_each_other() {
    const page = await open(`file://${file}`);
    await page.evaluate(() => {
      const { viewer, info } = window.vestige;
      viewer.chooseArea({ from: 0, to: info.duration / 2 });
      viewer.base = viewer.area;
      viewer.chooseArea({ from: info.duration / 2, to: info.duration });
    });
    await page.getByRole("tab", { name: "Compare" }).click();
    await page.waitForSelector(".diff tbody tr");
    const sums = await page.evaluate(async () => {
      const { source, info } = window.vestige, of = async (from, to) => (await source.table(from, to, [])).find((r) => info.names[r[0]] === "fib");
      return [(await of(0, info.duration / 2))?.[1] || 0, (await of(info.duration / 2, info.duration))?.[1] || 0];
    });
    const cells = await page.locator(".diff tbody tr", { hasText: "fib" }).first().locator("td").allInnerTexts();
    assert.deepEqual(cells.slice(4).map(Number), sums);
    await page.close();
  },

  async notes_and_the_session() {
    const page = await open(`file://${file}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.getByRole("tab", { name: "Notes" }).click();
    await page.getByLabel(/^Note at/).fill("here it began");
    await page.getByRole("button", { name: "Add note" }).click();
    await page.getByLabel("Filter expression").fill("event == fib");
    await page.keyboard.press("Enter");
    await page.evaluate(() => {
      const { graph, viewer } = window.vestige;
      viewer.pin(0);
      viewer.hide([1], true);
      viewer.chooseArea({ from: 2000, to: 400000 });
      graph.show(1000, 500000);
      return viewer.addPlot({ kind: "heat", name: "fib" });
    });
    const [got] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save", exact: true }).click()]);
    const saved = readFileSync(await got.path(), "utf8");
    await page.close();
    const again = await open(`file://${redirect}`);
    await again.locator("#session").setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from(saved) });
    await again.waitForFunction(() => window.vestige.graph.notes.length === 1 && !window.vestige.viewer.busy);
    const now = await again.evaluate(() => {
      const { graph, viewer } = window.vestige;
      return [graph.layout.pinned, [...graph.layout.hidden], viewer.filter.text, graph.tracks.filter((t) => t.plot).length, graph.notes[0].text, graph.markers.a];
    });
    assert.deepEqual(now, [[0], [1], "event == fib", 1, "here it began", at.span.start]);
    assert.ok(Math.abs((await range(again)).from - 1000) < 1);
    // once more: nothing is there twice, and the range acts
    await again.locator("#session").setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from(saved) });
    await again.waitForFunction(() => !window.vestige.viewer.busy);
    const twice = await again.evaluate(() => {
      const { graph, viewer } = window.vestige;
      return [graph.tracks.filter((t) => t.plot).length, viewer.plots.length, viewer.area, graph.layout.pinned, document.documentElement.dataset.dark];
    });
    assert.deepEqual(twice, [1, 1, { from: 2000, to: 400000 }, [0], JSON.parse(saved).dark ? "1" : "0"]);
    // a plot that this recording cannot make stops nothing else, and is kept
    const lacking = JSON.parse(saved);
    lacking.plots.unshift({ kind: "heat", name: "no such function" });
    await again.locator("#session").setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(lacking)) });
    await again.waitForSelector(".problem");
    assert.deepEqual(await again.evaluate(() => [window.vestige.viewer.plots.length, window.vestige.graph.notes.length]), [2, 1]);
    await again.locator("#session").setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from("{}") });
    await again.waitForSelector(".problem");
    assert.match(await text(again, ".problem"), /no session/);
    const damaged = Buffer.from(JSON.stringify({ ...JSON.parse(saved), notes: {}, dark: false }));
    await again.close();
    const third = await open(`file://${redirect}`);
    await third.locator("#session").setInputFiles({ name: "s.json", mimeType: "application/json", buffer: damaged });
    await third.waitForSelector(".problem");
    assert.match(await text(third, ".problem"), /no session/);
    await third.close();
  },

  async tables_are_of_the_shown_tracks() {
    const page = await open(`file://${file}`);
    const calls = (filter) => page.evaluate(async (text) => {
      const { graph, viewer } = window.vestige;
      graph.layout.titleFilter = text;
      viewer.tab = "table";
      graph.layOut();
      viewer.changed();
      await new Promise((done) => setTimeout(done, 300));
      return [...document.querySelectorAll(".functions tbody tr")].length;
    }, filter);
    const tid = await page.evaluate(() => window.vestige.info.tracks.find((t) => t.kind === "calls").id);
    assert.ok((await calls("")) > 0);
    assert.ok((await calls(String(tid))) > 0);
    assert.equal(await calls("no such track"), 0);
    await page.close();
  },

  async a_picture_is_saved() {
    const page = await open(`file://${file}`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("PNG");
    const [got] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
    assert.deepEqual([...readFileSync(await got.path()).subarray(1, 4)], [...Buffer.from("PNG")]);
    await page.close();
  },

  async the_keyboard_goes_through_calls() {
    const page = await open(`file://${redirect}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.locator("canvas").focus();
    await page.keyboard.press("Shift+ArrowDown");
    await page.waitForFunction((s) => window.vestige.graph.chosen.row === s.row + 1 && window.vestige.graph.chosen.start >= s.start, at.span);
    const first = await chosen(page);
    await page.keyboard.press(".");
    await page.waitForFunction((s) => window.vestige.graph.chosen.start > s, first.start);
    await page.keyboard.press(",");
    await page.waitForFunction((s) => window.vestige.graph.chosen.start === s, first.start);
    await page.keyboard.press("Shift+ArrowUp");
    await page.waitForFunction((s) => window.vestige.graph.chosen.start === s.start && window.vestige.graph.chosen.row === s.row, at.span);
    await page.keyboard.press("Shift+F10");
    await page.waitForSelector(".menu");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".menu").count(), 0);
    assert.match(await page.locator("canvas").getAttribute("aria-label"), /Chosen: thread/);
    await page.close();
  },

  async source_of_a_function() {
    const page = await open(`file://${redirect}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.getByRole("tab", { name: "Source" }).click();
    await page.waitForSelector(".source .here");
    assert.match(await text(page, ".source .here"), /void \*thread/);
    await page.close();
  },

  async a_command_that_records() {
    const page = await open(`file://${file}`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("records");
    await page.keyboard.press("Enter");
    await page.getByLabel("Events", { exact: true }).fill("sched lock");
    await page.getByLabel("of the kernel, too").check();
    assert.equal(await text(page, ".command"), "vestige record -p function_graph -k -e sched -e lock -o trace.dat -- ./prog");
    await page.close();
  },

  async a_command_that_cuts() {
    const page = await open(`file://${redirect}`);
    const at = await place(page, "thread");
    await page.mouse.click(at.x, at.y);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("cuts");
    await page.keyboard.press("Enter");
    await page.getByLabel("Output").fill("a b.dat");
    const line = await text(page, ".command");
    assert.match(line, /^vestige split -i t.dat -o 'a b.dat' [0-9]+\.[0-9]{9} [0-9]+\.[0-9]{9}$/);
    console.log(`command ${line}`);
    await page.close();
  },

  // The manual's pictures: PICTURES=docs/pictures writes them there.
  async pictures() {
    const save = async (page, name) => {
      const png = await page.screenshot(process.env.PICTURES ? { path: `${process.env.PICTURES}/${name}.png` } : {});
      assert.ok(png.length > 20000, `${name} is ${png.length} bytes`);
    };
    const page = await open(`file://${redirect}`, { width: 1366, height: 768 });
    for (const command of ["waits for locks", "holders of locks"]) {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(command);
      await page.keyboard.press("Enter");
      await page.waitForFunction((title) => window.vestige.graph.tracks.some((t) => t.plot && t.plot.title.startsWith(title)), command.replace("locks", "lock"));
    }
    await page.evaluate(() => {
      const { graph } = window.vestige, { start, length } = graph.tracks.find((t) => t.plot && t.plot.title.startsWith("holders")).plot.rows[0], last = start.length - 1;
      graph.show(start[last >> 1], start[last] + length[last]);
    });
    await page.getByRole("tab", { name: "Functions" }).click();
    await page.waitForSelector(".functions tbody tr");
    await page.mouse.move(4, 4);
    await settle(page);
    await save(page, "view-locks");
    await page.getByRole("button", { name: "Dark" }).click();
    await page.evaluate(() => window.vestige.graph.show(0, window.vestige.info.duration));
    await page.getByRole("tab", { name: "Flame graph" }).click();
    await page.waitForSelector(".flame .box >> nth=1");
    await settle(page);
    const [paper, bar] = await page.evaluate(() => {
      const { data } = document.querySelector("canvas").getContext("2d").getImageData(2, 2, 1, 1);
      return [[...data].slice(0, 3), getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number).slice(0, 3)];
    });
    assert.ok(Math.max(...paper, ...bar) < 90, JSON.stringify([paper, bar]));
    await save(page, "view-dark");
    await page.close();
  },

  async fits_small_and_large_screens() {
    for (const [width, height] of [[1366, 768], [3840, 2160]]) {
      const page = await open(`file://${file}`, { width, height });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight));
      assert.ok((await page.locator("canvas").boundingBox()).height > height / 4);
      await page.close();
    }
  },

  async keyboard_and_screen_reader_reach_everything() {
    const page = await open(`file://${redirect}`);
    await page.keyboard.press("?");
    assert.match(await text(page, ".help"), /Zoom in/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".dialog").count(), 0);
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
    const serious = async () => {
      const answer = await cdp.send("Runtime.evaluate", {
        expression: "axe.run().then((r) => JSON.stringify(r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => [v.id, v.nodes[0].html])))",
        awaitPromise: true, returnByValue: true,
      });
      return JSON.parse(answer.result.value);
    };
    // it finds what is there: an image without a name
    await page.evaluate(() => document.body.append(document.createElement("img")));
    assert.deepEqual((await serious()).map((v) => v[0]), ["image-alt"]);
    await page.evaluate(() => document.body.lastChild.remove());
    const tabs = await page.getByRole("tab").allInnerTexts();
    assert.ok(tabs.length >= 8, tabs.join());
    for (const name of ["Light", "Dark"]) {
      for (const tab of tabs) {
        await page.getByRole("tab", { name: tab, exact: true }).click();
        await settle(page);
        assert.deepEqual(await serious(), [], `${tab}, before ${name}`);
      }
      for (const keys of ["?", "Control+k"]) {
        await page.locator("canvas").first().focus();
        await page.keyboard.press(keys);
        await page.waitForSelector(".dialog");
        assert.deepEqual(await serious(), [], `the dialog of ${keys}, before ${name}`);
        await page.keyboard.press("Escape");
      }
      await page.getByRole("button", { name, exact: true }).click();
    }
    await page.close();
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests).filter(([name]) => !only.length || only.includes(name))) {
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
