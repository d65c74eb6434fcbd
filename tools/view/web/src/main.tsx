// SPDX-License-Identifier: MIT
// The page begins: from its own data (vestige view --html), or from the server.
import { render } from "preact";
import { App } from "./app";
import { LocalSource } from "./local";
import { ServerSource } from "./server";
import type { Source } from "./source";

const TOKEN = "vestige-token";

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

async function begin() {
  const place = document.getElementById("app")!;
  const data = document.getElementById("recording");
  try {
    const source: Source = data ? new LocalSource(JSON.parse(data.textContent!)) : new ServerSource(takeToken());
    const info = await source.info();
    place.textContent = "";
    render(<App source={source} info={info} />, place);
  } catch (error) {
    place.textContent = (error as Error).message;
  }
}

begin();
