/** Finds the values of a JSON text without parsing it: files of gigabytes are indexed in windows. */
import { paced } from "../../bytes/pace.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, type LabError } from "../../errors.ts";

/** Bytes read at a time. */
const WINDOW = 2 ** 22;
/** Maximum values of one list or object, and maximum nesting. */
const MAX_VALUES = 2 ** 22;
const MAX_DEPTH = 64;
/** Maximum characters of a key; longer keys are cut. */
const MAX_KEY = 4096;

/** Values of one level, by their bytes [start, end) in the file. */
export interface JsonSpans {
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
export async function scanJson(
  source: ByteSource,
  from: number,
  top: boolean,
  signal?: AbortSignal,
): Promise<JsonSpans> {
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

export const [OPEN_LIST, OPEN_OBJECT] = [0x5b, 0x7b];
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
