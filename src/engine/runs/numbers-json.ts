/**
 * JSON that keeps every double, because NaN and the infinities have no JSON number. In flat metric rows, where every
 * value is a number, they are the strings "NaN", "Infinity" and "-Infinity". In other JSON, where "NaN" may be a text,
 * they and -0 are written as `{"$number": "NaN"}`.
 */

import * as z from "zod/mini";
import { parseJson, parseJsonAs } from "../bytes/json.ts";
import { MOST_STEPS } from "./step-name.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const MARK = "$number";

/** Value as plain JSON with marked numbers and keys in sorted order: equal values give equal text. */
export function exactJson(value: Json, indent?: number): string {
  return JSON.stringify(mark(value), null, indent);
}

/** Inverse of exactJson. @param subject for messages @throws LabError("bad-input") when the text is not JSON */
export function parseExactJson(text: string, subject: string): Json {
  return unmark(parseJson(text, subject) as Json);
}

/** A row of metrics on one line. */
export function metricsLine(row: Readonly<Record<string, number>>): string {
  return JSON.stringify(row, (_, value: unknown) => {
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  });
}

const ROW = z.looseObject({ step: z.number().check(z.int(), z.gte(0), z.lte(MOST_STEPS)) });

/**
 * The numbers of a metrics line; other values are skipped.
 * @param place file and line, for messages
 * @throws LabError("bad-input") when it is not JSON or has no step
 */
export function parseMetricsLine(line: string, place: string): Record<string, number> {
  const entries = Object.entries(parseJsonAs(line, ROW, place)).flatMap(([name, value]) => {
    if (typeof value === "number") return [[name, value] as const];
    return value === "NaN" || value === "Infinity" || value === "-Infinity" ? [[name, Number(value)] as const] : [];
  });
  return Object.fromEntries(entries);
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
