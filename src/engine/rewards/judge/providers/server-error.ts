/** Decodes the errors of OpenAI-compatible servers and proxies, which share no form. */
import * as z from "zod/mini";
import { intactJson, isRecord } from "../../../bytes/json.ts";

export interface ServerError {
  /** The server's own words, "" without any. */
  readonly said: string;
  /** Request fields that the error names outside its words, as in `param` and `loc`. */
  readonly fields: readonly string[];
  /** HTTP status that the error names; null without one. */
  readonly status: number | null;
}

interface Found {
  readonly said: Set<string>;
  readonly fields: Set<string>;
  readonly statuses: number[];
  /** Statuses by name; a number counts more. */
  readonly named: number[];
}

/** Keys whose values hold words or further errors, the most telling first; all keys are compared in lower case. */
const WORDS = [
  "error",
  "errors",
  "message",
  "msg",
  "detail",
  "details",
  "description",
  "error_message",
  "error_description",
  "metadata",
  "raw",
  "fieldviolations",
  "issues",
  "params",
  "invalid_params",
  "invalid-params",
  "reason",
  "title",
  "base_resp",
  "status_msg",
];
const FIELDS = ["param", "loc", "path", "field", "keys", "name", "additionalproperty"];
const STATUSES = ["code", "status", "status_code", "statuscode", "type"];
/** Components in front of a field in a path. */
const ROOTS: ReadonlySet<string> = new Set(["body", "query", "root", "$"]);
/** Levels and items that are read of an error. */
const [LEVELS, ITEMS] = [8, 20];

/** Reads an error from the text of a response, or from a part of it that is parsed already. */
export function serverError(body: unknown): ServerError {
  const found: Found = { said: new Set(), fields: new Set(), statuses: [], named: [] };
  visit(body, found, 0);
  const said = [...found.said];
  // A proxy repeats the words of the server behind it.
  const own = said.filter((text) => !said.some((other) => other !== text && other.includes(text)));
  return {
    said: own.join("; "),
    fields: [...found.fields],
    status: found.statuses[0] ?? found.named[0] ?? null,
  };
}

function visit(value: unknown, found: Found, level: number): void {
  if (level > LEVELS) return;
  if (typeof value === "string") {
    const inner = /^\s*[[{]/.test(value) ? intactJson(value, z.unknown()) : undefined;
    if (typeof inner === "object" && inner !== null) {
      visit(inner, found, level + 1);
      return;
    }
    for (const [, path = ""] of value.matchAll(PYTHON_PATH)) addField(path.split(","), found);
    if (value.trim() !== "") found.said.add(value.trim());
  } else if (Array.isArray(value)) {
    for (const item of value.slice(0, ITEMS)) visit(item, found, level + 1);
  } else if (isRecord(value)) visitRecord(value, found, level);
}

/** The path of a field in a list that Python printed. */
const PYTHON_PATH = /['"]loc['"]\s*:\s*[[(]([^\])]{0,200})[\])]/g;

function visitRecord(stored: Record<string, unknown>, found: Found, level: number): void {
  const record = Object.fromEntries(Object.entries(stored).map(([key, value]) => [key.toLowerCase(), value]));
  for (const key of STATUSES) {
    const value = record[key];
    const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && number >= 400 && number < 600) found.statuses.push(number);
    const status = typeof value === "string" ? NAMED.find(([name]) => name.test(value))?.[1] : undefined;
    if (status !== undefined) found.named.push(status);
  }
  for (const key of FIELDS) {
    const value = record[key];
    if (typeof value === "string") addField(value.split(/[.[/]/), found);
    else if (Array.isArray(value) && key === "keys") for (const name of value) addField([String(name)], found);
    else if (Array.isArray(value)) addField(value.slice(0, ITEMS).map(String), found);
  }
  if (Array.isArray(record.loc) && typeof record.msg === "string") {
    const path = record.loc.slice(0, ITEMS).map(String);
    found.said.add(`${path.filter((part) => !ROOTS.has(part)).join(".")}: ${record.msg}`);
    return;
  }
  // ASP.NET lists the words of each field under its name.
  const { errors } = record;
  if (isRecord(errors)) for (const name of Object.keys(errors).slice(0, ITEMS)) addField(name.split("."), found);
  for (const key of WORDS) visit(record[key], found, level + 1);
  if (isRecord(errors)) for (const words of Object.values(errors).slice(0, ITEMS)) visit(words, found, level + 1);
}

/** Keeps the outermost component of a path, which is the field of the request. */
function addField(path: readonly string[], found: Found): void {
  const names = path.map((part) => part.trim().replace(/^['"]|['"]$/g, ""));
  const name = names.find((part) => part !== "" && !ROOTS.has(part));
  if (name !== undefined) found.fields.add(name);
}

/** Statuses of the usual names of errors. */
const NAMED: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|quota|resource.?exhausted|too.?many.?requests|throttl/i, 429],
  [/overload|unavailable|capacity/i, 503],
  [/time.?out|deadline/i, 504],
  [/unauth|api.?key|authentication/i, 401],
  [/permission|forbidden/i, 403],
  [/not.?found/i, 404],
  [/invalid|bad.?request|unsupported|validation|unprocessable|unrecognized/i, 400],
  [/internal|server.?error|api.?error/i, 500],
];
