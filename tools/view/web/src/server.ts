// SPDX-License-Identifier: MIT
// The recording as the server of `vestige view` gives it. Each request carries the token.
import type { Entry, FlameRow, Found, FunctionTimes, Info, Source, SourceText, SqlAnswer, TableRow } from "./source";

export class ServerSource implements Source {
  constructor(private token: string, private filter = "") {}

  private async request(what: string, args: Record<string, string | number> = {}, body?: string): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(args)) query.set(name, String(value));
    if (this.filter) query.set("filter", this.filter);
    const headers = { "X-Vestige-Token": this.token };
    let reply: Response;
    try {
      reply = await fetch(`/api/${what}?${query}`, { headers, cache: "no-store", method: body === undefined ? "GET" : "POST", body });
    } catch {
      throw new Error("vestige view does not answer: it has ended. Start it again in its terminal.");
    }
    if (reply.status === 403)
      throw new Error("This page is not from the vestige view that runs now: open the address that it printed.");
    if (!reply.ok) throw new Error(`vestige view: ${await reply.text()}`);
    return reply;
  }

  private async ask<T>(what: string, args: Record<string, string | number> = {}): Promise<T> {
    return (await this.request(what, args)).json();
  }

  info(): Promise<Info> {
    return this.ask("info");
  }

  filtered(steps: string): Source {
    return new ServerSource(this.token, steps);
  }

  spans(rows: [number, number][], from: number, to: number, pixel: number): Promise<number[][]> {
    const text = rows.map(([track, row]) => `${track}.${row}`).join(",");
    return this.ask("spans", { from: whole(from), to: whole(to), pixel: whole(pixel), rows: text });
  }

  list(at: number, nr: number): Promise<Entry[]> {
    return this.ask("list", { at, nr });
  }

  number(ts: number): Promise<number> {
    return this.ask("number", { from: whole(ts) });
  }

  find(steps: string, from: number, to: number): Promise<Found> {
    return this.ask("find", { text: steps, from, to });
  }

  table(from: number, to: number, tracks: number[]): Promise<TableRow[]> {
    return this.ask("table", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
  }

  flame(from: number, to: number, tracks: number[], offCpu: boolean): Promise<FlameRow[]> {
    return this.ask("flame", { from: whole(from), to: whole(to), tracks: tracks.join(","), off: offCpu ? 1 : 0 });
  }

  function(name: number, from: number, to: number): Promise<FunctionTimes> {
    return this.ask("function", { nr: name, from: whole(from), to: whole(to) });
  }

  sql(question: string): Promise<SqlAnswer> {
    return this.ask("sql", { text: question });
  }

  text(name: number): Promise<SourceText> {
    return this.ask("source", { nr: name });
  }

  generation(): Promise<number> {
    return this.ask("generation");
  }

  async load(): Promise<string> {
    return (await this.request("session")).text();
  }

  async save(session: string): Promise<void> {
    await this.request("session", {}, session);
  }
}

function whole(n: number): number {
  return Math.min(Math.max(0, Math.floor(n)), Number.MAX_SAFE_INTEGER);
}
