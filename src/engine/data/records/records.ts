/** Files of records, whose items are read one by one: JSON, and the formats of plug-ins. */

import { PLUGIN_RECORDS } from "../../../plugins/records.ts";
import { parseJson } from "../../bytes/json.ts";
import { type Pace, paced } from "../../bytes/pace.ts";
import { type ByteSource, windowed } from "../../bytes/source.ts";
import { isUtf16, storedText, utf8Text } from "../../bytes/text.ts";
import { badInput, LabError } from "../../errors.ts";

// Finds the values of a JSON text without parsing it: files of gigabytes are indexed in windows.

/** Bytes read at a time. */
const WINDOW = 2 ** 22;
/** Maximum values of one list or object, and maximum nesting. */
const MAX_VALUES = 2 ** 22;
const MAX_DEPTH = 64;
/** Maximum characters of a key; longer keys are cut. */
const MAX_KEY = 4096;

/** Values of one level, by their bytes [start, end) in the file. */
interface JsonSpans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** First byte of each value, which gives its kind. */
  readonly kinds: readonly number[];
  /** Keys of an object's values; empty for a list. */
  readonly keys: readonly string[];
  /** Offset after the closing bracket, or the end of the file. */
  readonly end: number;
  /** One sentence when the text ends inside a value: the values before it are complete. */
  readonly problem: string | undefined;
}

/**
 * The direct values of a list or object, or the values at the top of the text.
 * @param from offset after the opening bracket, or 0 for the top
 * @param top whether values follow each other without commas, as lines do
 * @throws LabError("bad-input") for brackets that do not match or nest deeper than 64; "cancelled"
 */
async function scanJson(source: ByteSource, from: number, top: boolean, signal?: AbortSignal): Promise<JsonSpans> {
  const found = new Spans(source.name);
  let [depth, quoted, escaped] = [0, false, false];
  // Start of the current value, and the offset after it once it is complete; -1 if there is none.
  let [begun, done, kind] = [-1, -1, 0];
  /** Whether each value is one line, as the first one is. */
  let oneLine = true;
  const pace = paced(`reading ${source.name}`, signal);
  for (let base = from; base < source.size; base += WINDOW) {
    await pace(WINDOW);
    const bytes = await source.read(base, Math.min(source.size, base + WINDOW));
    const length = bytes.length;
    for (let index = 0; index < length; index++) {
      const byte = bytes[index] as number;
      if (top && byte === NEWLINE && (quoted || depth > 0)) {
        oneLine &&= found.any;
        if (oneLine) {
          // A damaged line ends at its line break, so that it does not affect the next lines.
          found.add(begun, base + index, kind);
          [depth, quoted, escaped, begun, done] = [0, false, false, -1, -1];
          continue;
        }
      }
      if (quoted) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) {
          quoted = false;
          if (depth === 0) done = base + index + 1;
        }
        if (depth === 0) found.keyByte(byte);
        continue;
      }
      if (depth > 0) {
        // Inside a value only brackets and quotes count.
        if (byte === QUOTE) quoted = true;
        else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
          if (++depth > MAX_DEPTH) throw found.bad(`values nest deeper than ${MAX_DEPTH} levels`, base + index);
        } else if ((byte === CLOSE_LIST || byte === CLOSE_OBJECT) && --depth === 0) {
          done = base + index + 1;
          if (top) {
            found.add(begun, done, kind);
            [begun, done] = [-1, -1];
          }
        }
        continue;
      }
      const at = base + index;
      if (byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB) {
        // A bare word ends here; at the top it is a separate value.
        if (begun >= 0 && done < 0) done = at;
        if (top && done >= 0) {
          found.add(begun, done, kind);
          [begun, done] = [-1, -1];
        }
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        if (top) throw found.bad("a closing bracket has no opening bracket", at);
        found.add(begun, done < 0 ? at : done, kind);
        return found.complete(at + 1);
      } else if (byte === COMMA && !top) {
        found.add(begun, done < 0 ? at : done, kind);
        [begun, done] = [-1, -1];
      } else if (byte === COLON && !top) {
        if (kind !== QUOTE || done < 0) throw found.bad("a colon does not follow a key", at);
        found.takeKey();
        [begun, done] = [-1, -1];
      } else if (begun < 0 || done >= 0) {
        if (done >= 0 && !top) throw found.bad("a comma is missing", at);
        if (done >= 0) found.add(begun, done, kind);
        [begun, done, kind] = [at, -1, byte];
        if (byte === QUOTE) {
          quoted = true;
          found.beginKey();
        } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth = 1;
      }
    }
  }
  if (top && depth === 0 && !quoted) {
    found.add(begun, done < 0 ? source.size : done, kind);
    return found.complete(source.size);
  }
  // A complete value before the end, unless it is a key without a value.
  if (depth === 0 && done >= 0 && (kind !== QUOTE || found.hasKey)) found.add(begun, done, kind);
  return found.cutOff(source.size);
}

/** The spans found so far. */
class Spans {
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly kinds: number[] = [];
  private readonly keys: string[] = [];
  private readonly name: string;
  private key: number[] = [];
  private pending: string | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get any(): boolean {
    return this.starts.length > 0;
  }

  get hasKey(): boolean {
    return this.pending !== undefined;
  }

  add(start: number, end: number, kind: number): void {
    if (start < 0) return;
    if (this.starts.length >= MAX_VALUES) throw this.bad(`it has more than ${MAX_VALUES} values`, start);
    this.starts.push(start);
    this.ends.push(end);
    this.kinds.push(kind);
    if (this.pending !== undefined) this.keys.push(this.pending);
    this.pending = undefined;
  }

  beginKey(): void {
    this.key = [];
  }

  keyByte(byte: number): void {
    if (this.key.length < MAX_KEY) this.key.push(byte);
  }

  takeKey(): void {
    this.pending = keyText(this.key);
  }

  complete(end: number): JsonSpans {
    const { starts, ends, kinds, keys } = this;
    return { starts, ends, kinds, keys, end, problem: undefined };
  }

  cutOff(size: number): JsonSpans {
    const kept = this.starts.length;
    const values = kept === 1 ? "value before the cut is" : `${kept} values before the cut are`;
    const problem = `${this.name} is cut off after ${size} bytes; the ${values} kept`;
    return { ...this.complete(size), problem };
  }

  bad(what: string, at: number): LabError {
    return badInput(`${this.name} is not valid JSON: ${what} at byte ${at}`, this.name);
  }
}

const [OPEN_LIST, OPEN_OBJECT] = [0x5b, 0x7b];
const [CLOSE_LIST, CLOSE_OBJECT, COMMA, COLON, QUOTE, BACKSLASH] = [0x5d, 0x7d, 0x2c, 0x3a, 0x22, 0x5c];
const [SPACE, NEWLINE, RETURN, TAB] = [0x20, 0x0a, 0x0d, 0x09];

/** A key with its escapes decoded; unchanged if they are damaged. */
function keyText(bytes: readonly number[]): string {
  const raw = new TextDecoder().decode(Uint8Array.from(bytes.slice(0, -1)));
  if (!raw.includes("\\")) return raw;
  try {
    const value: unknown = JSON.parse(`"${raw}"`);
    return String(value);
  } catch {
    // The key is only for display; its value is parsed separately.
    return raw;
  }
}

/** Maximum bytes of a file that is read whole, and of a single item of a JSON text. */
const MAX_WHOLE = 2 ** 28;
const MAX_ITEM = 2 ** 27;
/** Work of an item besides its text, in bytes. */
const ITEM_WORK = 2 ** 10;
/** Bytes of a list that are parsed together. */
const PIECE = 2 ** 20;

/** A list, the lines of a file, or the values of an object under their keys. */
export interface Records {
  readonly name: string;
  readonly shape: "list" | "lines" | "object";
  readonly length: number;
  /** Keys of an object, in order; empty otherwise. */
  readonly keys: readonly string[];
  /** One sentence when the file is truncated; complete items are kept. */
  readonly problem: string | undefined;
  /** Item at an index. @throws LabError("bad-input") when it is damaged or missing */
  item(index: number): Promise<unknown>;
  /** Items in order, several at a time, which is faster than one by one. */
  each(): AsyncGenerator<readonly [index: number, value: unknown]>;
  /** The list or object at a position as separate records; undefined if it is neither. */
  inside(index: number): Promise<Records | undefined>;
}

/**
 * The records of a file, recognised by its content; undefined when it holds a single plain value or nothing.
 * @throws LabError("bad-input") when it is neither JSON nor of a known format, "cancelled" when the signal is aborted
 */
export async function openRecords(source: ByteSource, signal?: AbortSignal): Promise<Records | undefined> {
  const head = await source.read(0, Math.min(8, source.size));
  if (isUtf16(head)) throw badInput(`${source.name} is text in UTF-16; save it in UTF-8`, source.name);
  const format = PLUGIN_RECORDS.find(({ path, starts }) => starts(head) || path.test(source.name));
  if (format !== undefined) {
    if (source.size > MAX_WHOLE) {
      throw badInput(`${source.name} is a ${format.name} of ${source.size} bytes, more than ${MAX_WHOLE}`);
    }
    return ofValue(source.name, format.read(await source.read(0, source.size), source.name), signal);
  }
  const file = windowed(source);
  const first = await firstBracket(file);
  // A single line is a row too, if the file name says that lines are rows.
  const oneLine = first?.kind === OPEN_OBJECT && /\.(jsonl|ndjson)$/i.test(source.name);
  if (first !== undefined && !oneLine) {
    const spans = await scanJson(source, first.at + 1, false, signal);
    const rest = await source.read(spans.end, Math.min(source.size, spans.end + 4096));
    if (spans.problem !== undefined || rest.every((byte) => byte <= 0x20)) {
      return ofSpans(file, spans, first.kind === OPEN_LIST ? "list" : "object", signal);
    }
  }
  // From the first bracket on, after a byte order mark.
  const lines = await scanJson(source, first?.at ?? 0, true, signal);
  return lines.starts.length < (oneLine ? 1 : 2) ? undefined : ofSpans(file, lines, "lines", signal);
}

/**
 * The opened or read value; undefined if it is damaged.
 * @throws LabError("cancelled")
 */
export async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code !== "cancelled") return undefined;
    throw thrown;
  }
}

/** The first bracket of a text; undefined when it starts with anything else. */
async function firstBracket(file: ByteSource): Promise<{ readonly at: number; readonly kind: number } | undefined> {
  const head = await file.read(0, Math.min(1024, file.size));
  const mark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  const at = head.findIndex((byte, index) => index >= mark && byte > 0x20);
  const kind = head[at];
  return kind === OPEN_LIST || kind === OPEN_OBJECT ? { at, kind } : undefined;
}

/** A whole number that may be too long to be exact. */
const LONG = /(?<![\w.+-])-?\d{16,}(?![\w.])/;
/** Matches the beginning of texts, Python's special numbers, and long whole numbers. */
const TOKENS = new RegExp(`"|-?(?:NaN|Infinity)|${LONG.source}`, "g");

/** The same text as plain JSON. */
function plainJson(text: string): string {
  const tokens = new RegExp(TOKENS);
  let [out, from] = ["", 0];
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    const [part] = found;
    if (part === '"') tokens.lastIndex = endOfText(text, tokens.lastIndex);
    else if (!Number.isSafeInteger(Number(part))) {
      out += text.slice(from, found.index) + (/\d/.test(part) ? `"${part}"` : "null");
      from = tokens.lastIndex;
    }
  }
  return out + text.slice(from);
}

/** Position after the closing quote of a text. @param start position after the opening quote */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}

/**
 * Parses a JSON text, including Python's extensions: NaN and infinities become null; whole numbers beyond 2^53, such as
 * ids, become text.
 * @throws LabError("bad-input")
 */
export function parsePython(text: string, subject: string): unknown {
  if (LONG.test(text)) return parseJson(plainJson(text), subject);
  try {
    return parseJson(text, subject);
  } catch (thrown) {
    const other = plainJson(text);
    if (other === text) throw thrown;
    return parseJson(other, subject);
  }
}

async function ofSpan(
  file: ByteSource,
  spans: JsonSpans,
  index: number,
  signal: AbortSignal | undefined,
): Promise<Records | undefined> {
  const [kind, start] = [spans.kinds[index], spans.starts[index]];
  if (start === undefined || (kind !== OPEN_LIST && kind !== OPEN_OBJECT)) return undefined;
  const inner = await scanJson(file, start + 1, false, signal);
  return ofSpans(file, inner, kind === OPEN_LIST ? "list" : "object", signal);
}

function ofSpans(
  file: ByteSource,
  spans: JsonSpans,
  shape: Records["shape"],
  signal: AbortSignal | undefined,
): Records {
  const { starts, ends, keys, problem } = spans;
  const inner = new Map<number, Promise<Records | undefined>>();
  const pace = paced(`reading ${file.name}`, signal);
  const item = async (index: number): Promise<unknown> => {
    const [start, end] = [starts[index], ends[index]];
    if (start === undefined || end === undefined) throw noItem(file.name, index, starts.length);
    if (end - start > MAX_ITEM) throw tooLong(file.name, index, end - start);
    await pace(end - start + ITEM_WORK);
    return parsePython(storedText(await file.read(start, end)), `item ${index} of ${file.name}`);
  };
  return {
    name: file.name,
    shape,
    length: starts.length,
    keys,
    problem,
    item,
    each: () => (shape === "list" ? eachOfList(file, spans, item, pace) : eachItem(item, 0, starts.length)),
    inside: (index) => {
      const known = inner.get(index) ?? ofSpan(file, spans, index, signal);
      inner.set(index, known);
      return known;
    },
  };
}

/** Adjacent items of a list are separated by commas, so that a piece of the text is a separate list. */
async function* eachOfList(
  file: ByteSource,
  spans: JsonSpans,
  item: Records["item"],
  pace: Pace,
): AsyncGenerator<readonly [number, unknown]> {
  const { starts, ends } = spans;
  for (let from = 0; from < starts.length; ) {
    const start = starts[from] as number;
    let to = from + 1;
    while (to < starts.length && (ends[to] as number) - start <= PIECE) to++;
    const end = ends[to - 1] as number;
    if (end - start > MAX_ITEM) throw tooLong(file.name, from, end - start);
    const text = utf8Text(await file.read(start, end));
    if (text === undefined) yield* eachItem(item, from, to);
    else {
      await pace(end - start);
      const items = parsePython(`[${text}]`, `${file.name} at item ${from}`) as unknown[];
      if (items.length !== to - from) throw badInput(`${file.name} is not valid JSON at item ${from}`);
      for (const [index, one] of items.entries()) yield [from + index, one];
    }
    from = to;
  }
}

async function* eachItem(item: Records["item"], from: number, to: number): AsyncGenerator<readonly [number, unknown]> {
  for (let index = from; index < to; index++) yield [index, await item(index)];
}

function tooLong(name: string, index: number, bytes: number): LabError {
  return badInput(`item ${index} of ${name} has ${bytes} bytes, more than ${MAX_ITEM}`, name);
}

/** Records of a value in memory. */
function ofValue(name: string, value: unknown, signal: AbortSignal | undefined): Records | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  const at = (index: number): unknown => {
    const item = list[index];
    if (item === undefined) throw noItem(name, index, list.length);
    return item;
  };
  return {
    name,
    shape: Array.isArray(value) ? "list" : "object",
    length: list.length,
    keys: Array.isArray(value) ? [] : Object.keys(value),
    problem: undefined,
    item: async (index) => at(index),
    each: async function* () {
      const pace = paced(`reading ${name}`, signal);
      for (const entry of list.entries()) {
        await pace(ITEM_WORK);
        yield entry;
      }
    },
    inside: async (index) => ofValue(name, at(index), signal),
  };
}

function noItem(name: string, index: number, length: number): LabError {
  return badInput(`${name} has no item ${index}, only ${length}`, name);
}
