// SPDX-License-Identifier: MIT
// The recording as the server of `vestige view` gives it. The token goes with each request.
import type { Entry, FlameRow, Found, FunctionTimes, Info, Source, SqlAnswer, TableRow } from "./source";

export class ServerSource implements Source {
  constructor(private token: string) {}

  private async ask<T>(what: string, args: Record<string, string | number> = {}): Promise<T> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(args)) query.set(name, String(value));
    let reply: Response;
    try {
      reply = await fetch(`/api/${what}?${query}`, { headers: { "X-Vestige-Token": this.token }, cache: "no-store" });
    } catch {
      throw new Error("vestige view does not answer: it has ended. Start it again in its terminal.");
    }
    if (reply.status === 403)
      throw new Error("This page is not from the vestige view that runs now: open the address that it printed.");
    if (!reply.ok) throw new Error(`vestige view: ${await reply.text()}`);
    return reply.json();
  }

  info(): Promise<Info> {
    return this.ask("info");
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

  find(text: string, at: number, backward: boolean): Promise<Found> {
    return this.ask("find", { text, at, backward: backward ? 1 : 0 });
  }

  table(from: number, to: number, tracks: number[]): Promise<TableRow[]> {
    return this.ask("table", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
  }

  flame(from: number, to: number, tracks: number[]): Promise<FlameRow[]> {
    return this.ask("flame", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
  }

  function(name: number): Promise<FunctionTimes> {
    return this.ask("function", { nr: name });
  }

  sql(question: string): Promise<SqlAnswer> {
    return this.ask("sql", { text: question });
  }
}

function whole(n: number): number {
  return Math.max(0, Math.floor(n));
}
