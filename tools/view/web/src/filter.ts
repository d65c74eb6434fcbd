// SPDX-License-Identifier: MIT
// The language of filters and of the search, made into the steps that tools/view/match.h describes:
//	event == sched_switch && prev_pid == 3 || task ~ "work*" && length > 10us
// A single word is searched in the event's name and in the info.

const COLUMNS = ["event", "info", "task", "pid", "cpu", "time", "latency", "length", "depth"];
const OPERATORS: Record<string, string> = { "==": "eq", "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "~": "glob", contains: "has", lacks: "lacks" };
const TOKEN = /\s*(?:(&&|\|\||==|!=|<=|>=|[<>~=()!])|"((?:[^"\\]|\\.)*)"|([^\s()!<>=~&|"]+))/y;
const UNITS: Record<string, number> = { "": 1, ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

interface Token {
  text: string;
  kind: "sign" | "quoted" | "word" | "end";
  at: number;
}

function tokens(text: string): Token[] {
  const out: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex, m = TOKEN.exec(text);
    if (!m) throw new Error(`The filter cannot be read at “${text.slice(at).trim()}”.`);
    if (m[1]) out.push({ text: m[1], kind: "sign", at });
    else if (m[2] !== undefined) out.push({ text: m[2].replace(/\\(.)/g, "$1"), kind: "quoted", at });
    else out.push({ text: m[3], kind: "word", at });
  }
  out.push({ text: "", kind: "end", at: text.length });
  return out;
}

// A step is one line: of a value with a newline only the part before it is compared.
export function step(column: string, op: string, value: string): string {
  return `${column} ${op} ${value.split("\n")[0]}`;
}

function nanoseconds(text: string): number {
  const m = /^(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|)$/.exec(text);
  if (!m) throw new Error(`“${text}” is no length of time: 10us, 1.5ms, 2s.`);
  return Math.round(Number(m[1]) * UNITS[m[2]]);
}

// A time as the list shows it, in seconds, to ns since the recording's first time.
function sinceFirst(text: string, first: string): number {
  const m = /^(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (!m) throw new Error(`“${text}” is no time: seconds as the list has them, 12.345678901.`);
  return Number(BigInt(m[1]) * 1000000000n + BigInt((m[2] || "").padEnd(9, "0")) - BigInt(first));
}

function comparison(column: string, op: string, value: string, first: string): string[] {
  const known = COLUMNS.includes(column.toLowerCase()) ? column.toLowerCase() : `.${column}`;
  if (known === "length" && !["has", "lacks", "glob"].includes(op)) return [step(known, op, String(nanoseconds(value)))];
  if (known === "time" && !["has", "lacks", "glob"].includes(op)) return [step(known, op, String(sinceFirst(value, first)))];
  // sched_switch matches sched:sched_switch, too
  if (known === "event" && !value.includes(":") && (op === "eq" || op === "ne")) {
    const both = [step(known, "eq", value), step(known, "glob", `*:${value.replace(/[*?[\\]/g, "\\$&")}`), "or"];
    return op === "eq" ? both : [...both, "not"];
  }
  return [step(known, op, value)];
}

// The steps of an expression; "" for an empty one. Throws an Error with the reason.
export function parseFilter(text: string, first: string): string {
  const all = tokens(text);
  let at = 0;
  const take = (sign: string) => all[at].kind === "sign" && all[at].text === sign && !!++at;
  const term = (): string[] => {
    if (take("!")) return [...term(), "not"];
    if (take("(")) {
      const inner = either();
      if (!take(")")) throw new Error("A ) is missing in the filter.");
      return inner;
    }
    const name = all[at++];
    if (name.kind === "sign" || name.kind === "end") throw new Error(`The filter has no condition ${name.kind === "end" ? "at its end" : `before “${name.text}”`}.`);
    const op = all[at].kind === "quoted" ? undefined : OPERATORS[all[at].text];
    if (!op) return [step("event", "has", name.text), step("info", "has", name.text), "or"];
    const sign = all[at++], value = all[at++];
    if (value.kind === "sign" || value.kind === "end") throw new Error(`The filter has no value behind “${name.text} ${sign.text}”.`);
    return comparison(name.text, op, value.text, first);
  };
  const both = () => {
    const steps = term();
    while (take("&&")) steps.push(...term(), "and");
    return steps;
  };
  const either = (): string[] => {
    const steps = both();
    while (take("||")) steps.push(...both(), "or");
    return steps;
  };
  if (all[0].kind === "end") return "";
  const steps = either();
  if (all[at].kind !== "end") throw new Error(`The filter has “${all[at].text}” where && or || is expected.`);
  return steps.join("\n");
}

export type SearchMode = "contains" | "is" | "lacks";
export const SEARCH_COLUMNS = ["any", "event", "info", "task", "pid", "cpu", "latency", "expression"] as const;
export type SearchColumn = (typeof SEARCH_COLUMNS)[number];

// The steps of a search in a column.
export function searchSteps(text: string, column: SearchColumn, mode: SearchMode, first: string): string {
  if (column === "expression") return parseFilter(text, first);
  const op = { contains: "has", is: "eq", lacks: "lacks" }[mode];
  if (column !== "any") return mode === "is" ? comparison(column, op, text, first).join("\n") : step(column, op, text);
  const any = ["event", "info", "task"].map((c) => (mode === "is" ? comparison(c, "eq", text, first).join("\n") : step(c, "has", text)));
  return [any[0], any[1], "or", any[2], "or", ...(mode === "lacks" ? ["not"] : [])].join("\n");
}

// A value quoted for the filter language.
export function quote(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

// A filter with one more condition.
export function andFilter(text: string, more: string): string {
  if (!text.trim()) return more;
  return `${text.includes("||") ? `(${text.trim()})` : text.trim()} && ${more}`;
}
