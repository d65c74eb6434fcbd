// SPDX-License-Identifier: MIT
// Conditions evaluated in the page, as tools/view/match.c does in the server.

// The columns of a call, event or state; undefined: it has no such column.
export interface Item {
  event?: string;
  info?: string;
  latency?: string;
  task?: string;
  pid?: number;
  cpu?: number;
  time?: number;
  length?: number;
  depth?: number;
}

// undefined: neither met nor not met
type Met = boolean | undefined;
type Condition = (item: Item) => Met;

const WHOLE = /^(0x[0-9a-f]{1,16}|[1-9]\d{0,19}|0)$/i;

function numberOf(text: string): number {
  if (/^0x[0-9a-f]+$/i.test(text)) return parseInt(text, 16);
  return /^-?\.?\d/.test(text) ? Number(text) : NaN;
}

function compare(op: string, a: number | string, b: number | string): boolean {
  switch (op) {
    case "eq": return a === b;
    case "ne": return a !== b;
    case "lt": return a < b;
    case "le": return a <= b;
    case "gt": return a > b;
    default: return a >= b;
  }
}

function globOf(pattern: string): RegExp {
  const source = pattern.replace(/\\(.)|\[[^\]]*\]|[*?.+^${}()|]/g, (m, escaped) =>
    escaped !== undefined ? escaped.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : m === "*" ? ".*" : m === "?" ? "." : m[0] === "[" ? m.replace("[!", "[^") : `\\${m}`);
  return new RegExp(`^${source}$`, "s");
}

function textTest(op: string, value: string): (text: string) => boolean {
  const lower = value.toLowerCase(), number = numberOf(value);
  if (op === "has") return (text) => text.toLowerCase().includes(lower);
  if (op === "lacks") return (text) => !text.toLowerCase().includes(lower);
  if (op === "glob") {
    const glob = globOf(value);
    return (text) => glob.test(text);
  }
  const asNumber = (text: string) => (isNaN(number) || isNaN(numberOf(text)) ? compare(op, text, value) : compare(op, numberOf(text), number));
  if (!WHOLE.test(value)) return asNumber;
  // a number of this language has 53 bits
  const whole = BigInt(value);
  return (text) => {
    if (!WHOLE.test(text)) return asNumber(text);
    const n = BigInt(text);
    return compare(op, n > whole ? 1 : n < whole ? -1 : 0, 0);
  };
}

function numberTest(op: string, value: string): (n: number) => boolean {
  const number = numberOf(value), text = textTest(op, value);
  if (["has", "lacks", "glob"].includes(op)) return (n) => text(String(n));
  return (n) => (isNaN(number) ? op === "ne" : compare(op, n, number));
}

// The value behind NAME= or NAME: in an event's text.
export function fieldOf(info: string, name: string): string | undefined {
  const m = new RegExp(`(?:^|[^\\w])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}[=:] *([^ ,]*)`).exec(info);
  return m ? m[1] : undefined;
}

function term(line: string): Condition {
  const [, column, op, value] = /^(\S+) (\S+) (.*)$/s.exec(line)!;
  if (column[0] === ".") {
    const test = textTest(op, value), name = column.slice(1), known = new Map<string, Met>();
    return ({ info }) => {
      if (info === undefined) return undefined;
      if (!known.has(info)) {
        const field = fieldOf(info, name);
        known.set(info, field === undefined ? undefined : test(field));
      }
      return known.get(info);
    };
  }
  const text = textTest(op, value), number = numberTest(op, value), known = new Map<string, boolean>();
  return (item) => {
    const is = item[column as keyof Item];
    if (is === undefined) return undefined;
    if (typeof is === "number") return number(is);
    let met = known.get(is);
    if (met === undefined) known.set(is, (met = text(is)));
    return met;
  };
}

export function condition(steps: string): Condition {
  const stack: Condition[] = [];
  for (const line of steps.split("\n").filter((l) => l)) {
    if (line === "not") {
      const a = stack.pop()!;
      stack.push((item) => {
        const met = a(item);
        return met === undefined ? met : !met;
      });
    } else if (line === "and" || line === "or") {
      const b = stack.pop()!, a = stack.pop()!, decides = line === "or";
      stack.push((item) => {
        const x = a(item);
        if (x === decides) return x;
        const y = b(item);
        return y === decides ? y : x === undefined || y === undefined ? undefined : y;
      });
    } else stack.push(term(line));
  }
  return stack[0] || (() => true);
}
