// SPDX-License-Identifier: MIT
// The start of the page: the recording is in the page itself (vestige view --html), or the server
// has it.
import { render } from "preact";
import { App } from "./app";
import { LocalSource } from "./local";
import { ServerSource } from "./server";
import { saveSession } from "./session";
import type { Source } from "./source";
import type { Viewer } from "./viewer";

const TOKEN = "vestige-token";
const LIVE_MS = 1000; // between two looks for a change of a live recording
const READING_MS = 200; // of one that is being read

// The token comes behind the #, which no server sees, and is taken out of the address at once.
function takeToken(): string {
  const args = new URLSearchParams(location.hash.slice(1));
  const token = args.get("token");
  if (!token) return sessionStorage.getItem(TOKEN) || "";
  sessionStorage.setItem(TOKEN, token);
  args.delete("token");
  history.replaceState(null, "", `${location.pathname}#${args}`);
  return token;
}

const place = document.getElementById("app")!;
const failed = (error: Error) => {
  render(null, place);
  place.textContent = error.message;
};

// `session`: a saved session to open; "": none.
async function show(source: Source, session: string) {
  // asked first: what comes behind it is a change
  const seen = source.generation ? await source.generation() : 0;
  const info = await source.info();
  render(null, place);
  place.textContent = "";
  let viewer: Viewer | undefined;
  const ready = (v: Viewer) => {
    viewer = v;
    // for tests: what is on the screen
    (window as unknown as { vestige: unknown }).vestige = { viewer: v, graph: v.graph, source, info };
  };
  // the session is opened when the whole recording is read: its plots need all of it
  const now = info.reading ? "" : session;
  render(<App source={source} info={info} session={now} ready={ready} />, place);
  if (info.live || info.reading)
    follow(source, seen, info.reading ? READING_MS : LIVE_MS, () => (info.reading && session ? session : viewer ? saveSession(viewer) : ""));
}

// Show the recording again when more of it was read.
async function follow(source: Source, seen: number, each: number, session: () => string) {
  for (;;) {
    await new Promise((done) => setTimeout(done, each));
    if (document.hidden) continue;
    try {
      if ((await source.generation!()) !== seen) return show(source, session()).catch(failed);
    } catch (error) {
      return failed(error as Error);
    }
  }
}

async function begin() {
  const data = document.getElementById("recording");
  const source: Source = data ? LocalSource.of(JSON.parse(data.textContent!)) : new ServerSource(takeToken());
  await show(source, source.load ? await source.load() : "");
}

begin().catch(failed);
