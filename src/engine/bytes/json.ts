/** Reads foreign JSON: bounded, parsed, validated with a schema; errors are one sentence. */
import * as z from "zod/mini";
import { badInput, LabError, quote, shortened, thrownText } from "../errors.ts";
import { type ByteSource, IS_POINTER, isPointer } from "./source.ts";

// Without this, zod compiles code at run time, which the content security policy reports.
z.config({ jitless: true });

/** Maximum JSON size in bytes; side files are far smaller. */
const MAX_JSON = 2 ** 27;
/** Maximum nesting of lists and objects; files of the supported tools have fewer than ten levels. */
const MAX_DEPTH = 64;

/** A source as UTF-8 text. @throws LabError("bad-input") when it is larger than 128 MiB */
export async function readText(source: ByteSource): Promise<string> {
  if (source.size > MAX_JSON) {
    throw badInput(`${source.name} has ${source.size} bytes, too many for a text file`, source.name);
  }
  return new TextDecoder().decode(await source.read(0, source.size));
}

/** The JSON value of a source. @throws LabError("bad-input") naming the file when it is not JSON */
export async function readJson(source: ByteSource): Promise<unknown> {
  return parseJson(await readText(source), source.name);
}

/**
 * The value of a JSON text; a byte order mark before it is skipped.
 * @param subject file or address of the text, for messages
 * @throws LabError("bad-input") when it is not JSON, is nested deeper than 64 levels or has a number beyond 1.8e308
 */
export function parseJson(text: string, subject: string): unknown {
  const plain = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (plain.trim() === "") throw badInput(`${named(subject)} is empty`, subject);
  if (nestedDeeper(plain, MAX_DEPTH)) {
    throw badInput(`${named(subject)} is nested deeper than ${MAX_DEPTH} levels`, subject);
  }
  if (isPointer(plain)) throw badInput(`${named(subject)} ${IS_POINTER}`, subject);
  const large = HUGE.test(plain) ? hugeNumber(plain) : undefined;
  if (large !== undefined) {
    throw badInput(`${named(subject)} has a number that is too large, ${large}; write it in another way`, subject);
  }
  try {
    return JSON.parse(plain) as unknown;
  } catch (cause) {
    throw badInput(`${named(subject)} is not valid JSON: ${thrownText(cause)}`, subject, cause);
  }
}

/** What may be a number beyond 1.8e308, which JavaScript reads as infinity. */
const HUGE = /\d[eE]\+?0*[1-9]\d{2}|\d{309}/;
/** Pattern of a string in JSON. One without an end reaches the end of the text, so that no quote in it is tried anew. */
export const JSON_STRING = String.raw`"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)`;
const TOKENS = new RegExp(String.raw`${JSON_STRING}|-?\d[\d.]*(?:[eE][-+]?\d+)?`, "gs");

/** The first number outside texts that is not finite, with its line; undefined without one. */
function hugeNumber(text: string): string | undefined {
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token.startsWith('"') || Number.isFinite(Number(token)) || Number.isNaN(Number(token))) continue;
    return `${shortened(token, 24)} in line ${text.slice(0, index).split("\n").length}`;
  }
  return undefined;
}

/** The type of a stored value by its schema: read-only throughout, without the unknown keys that a loose schema keeps. */
export type Stored<S extends z.ZodMiniType> = Known<z.output<S>>;

type Known<T> = T extends readonly unknown[]
  ? { readonly [K in keyof T]: Known<T[K]> }
  : T extends object
    ? {
        readonly [K in keyof T as string extends K ? (unknown extends T[K] ? never : K) : K]: Known<
          Exclude<T[K], undefined>
        >;
      }
    : T;

/** Like parseJson, validated with a schema. @throws LabError("bad-input") naming the first invalid field */
export function parseJsonAs<T extends z.ZodMiniType>(text: string, schema: T, subject: string): z.output<T> {
  return checkShape(parseJson(text, subject), schema, subject);
}

/** Like parseJsonAs, but undefined for a damaged text, such as a line that a crash truncated. */
export function intactJson<T extends z.ZodMiniType>(text: string, schema: T): z.output<T> | undefined {
  try {
    return parseJsonAs(text, schema, "The text");
  } catch (thrown) {
    if (thrown instanceof LabError) return undefined;
    throw thrown;
  }
}

/** The validated value. @throws LabError("bad-input") naming the first invalid field */
export function checkShape<T extends z.ZodMiniType>(value: unknown, schema: T, subject: string): z.output<T> {
  const checked = shapeOf(value, schema);
  if ("value" in checked) return checked.value;
  throw badInput(`${named(subject)}: ${checked.problem}`, subject);
}

/** The validated value, or the problem of its first invalid field. */
export function shapeOf<T extends z.ZodMiniType>(
  value: unknown,
  schema: T,
): { readonly value: z.output<T> } | { readonly problem: string } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  return { problem: complaint(parsed.error.issues[0] as z.core.$ZodIssue, value) };
}

/** Like shapeOf, but without the problem. */
export function fits<T extends z.ZodMiniType>(value: unknown, schema: T): value is z.output<T> {
  return schema.safeParse(value).success;
}

/** Whether a JSON value is an object with string keys (not null, not a list). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function named(subject: string): string {
  return shortened(subject, 120);
}

function complaint(issue: z.core.$ZodIssue, whole: unknown): string {
  const path = issue.path.map(String);
  const found = path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? Object.entries(value).find(([k]) => k === key)?.[1] : undefined,
    whole,
  );
  const field = path.length === 0 ? "its content" : quote(path.join("."));
  if (found === undefined) return `${field} is missing, it must be ${wanted(issue)}`;
  return `${field} is ${quote(found)}, it must be ${wanted(issue)}`;
}

/** The expectation of an issue, as the end of "it must be …". */
function wanted(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return KINDS[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.length === 1 ? quote(issue.values[0]) : `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `${issue.origin === "string" || issue.origin === "array" ? "of length" : ""} ${issue.minimum} or more`.trim();
    case "too_big":
      return `${issue.origin === "string" || issue.origin === "array" ? "of length" : ""} ${issue.maximum} or less`.trim();
    case "unrecognized_keys":
      return `without ${quote(issue.keys[0])}`;
    case "custom":
      return issue.message;
    default:
      return "a different value";
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Whether lists and objects are nested deeper than `most` levels; linear in the text. */
function nestedDeeper(text: string, most: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) quoted = !quoted;
    else if (quoted) at += code === BACKSLASH ? 1 : 0;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > most) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];
