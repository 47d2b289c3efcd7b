/**
 * JSON that keeps every double: NaN and the infinities have no JSON number. In flat metric rows, where every value is a
 * number, they are the strings "NaN", "Infinity" and "-Infinity"; elsewhere, where a text may read "NaN", they and -0
 * are `{"$number": "NaN"}`.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const MARK = "$number";

/** Value as plain JSON with marked numbers and keys in sorted order: equal values give equal text. */
export function exactJson(value: Json, indent?: number): string {
  return JSON.stringify(mark(value), null, indent);
}

/** Inverse of exactJson. @throws SyntaxError when the text is no JSON */
export function parseExactJson(text: string): Json {
  return unmark(JSON.parse(text) as Json);
}

/** A row of metrics on one line. */
export function metricsLine(row: Readonly<Record<string, number>>): string {
  return JSON.stringify(row, (_, value: unknown) => {
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  });
}

/** The numbers of a metrics line; anything that is no number is left out. @throws SyntaxError when it is no JSON */
export function parseMetricsLine(line: string): Record<string, number> {
  const row: Record<string, number> = {};
  for (const [name, value] of Object.entries(JSON.parse(line) as Record<string, unknown>)) {
    if (typeof value === "number") row[name] = value;
    else if (value === "NaN" || value === "Infinity" || value === "-Infinity") row[name] = Number(value);
  }
  return row;
}

function mark(value: Json): Json {
  if (typeof value === "number") {
    if (Object.is(value, -0)) return { [MARK]: "-0" };
    return Number.isFinite(value) ? value : { [MARK]: String(value) };
  }
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map(mark);
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, mark(value[key])]])));
}

function unmark(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map(unmark);
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === MARK) return Number(value[MARK]);
  return Object.fromEntries(keys.map((key) => [key, unmark(value[key] as Json)]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
