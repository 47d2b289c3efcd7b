import { isRecord, parseJson } from "../../../src/engine/bytes/json.ts";
import { storedText } from "../../../src/engine/bytes/text.ts";
import { parseRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { badInput, LabError, toLabError } from "../../../src/engine/errors.ts";
import { nodeSource } from "../node/node-files.ts";

/** Captions or masks of a file in order, and the `id` of each entry, undefined without one. */
export type PairFile = { readonly name: string; readonly ids: readonly (string | undefined)[] } & (
  | { readonly kind: "captions"; readonly items: readonly string[] }
  | { readonly kind: "masks"; readonly items: readonly Rle[] }
);

/** Keys under which an object may hold its mask. */
const MASK_KEYS = ["mask", "segmentation", "rle"];

/**
 * Reads a file of captions (plain text with one on each line; JSON or JSONL of strings or {"caption": …}) or of masks
 * (JSON or JSONL of COCO run-length pairs {"size", "counts"}, alone or under mask, segmentation or rle). JSON is a
 * list or one item. A blank line of plain text is an empty caption. Text is UTF-8, UTF-16 with a byte order mark or
 * Windows-1252.
 * @throws LabError("bad-input") naming the file and the problem
 */
export async function readPairFile(path: string): Promise<PairFile> {
  const source = await nodeSource(path);
  const text = storedText(await source.read(0, source.size));
  const fail = (cause: string): LabError => badInput(`${path}: ${cause}; nothing was scored`, path);
  const lines = text.split(/\r?\n/u);
  if (lines.at(-1) === "") lines.pop();
  if (lines.length === 0) throw fail("the file is empty");
  const values = jsonValues(text, lines, path, fail);
  if (values === null) return { name: path, ids: [], kind: "captions", items: lines };
  if (values.length === 0) throw fail("the list is empty");
  const captions: string[] = [];
  const masks: Rle[] = [];
  for (const [at, value] of values.entries()) {
    const caption = isRecord(value) ? value.caption : value;
    const mask = maskOf(value);
    if (mask !== undefined) {
      try {
        masks.push(parseRle(mask));
      } catch (thrown) {
        throw fail(`entry ${at + 1}: ${toLabError(thrown).message}`);
      }
    } else if (typeof caption === "string") captions.push(caption);
    else throw fail(`entry ${at + 1} is neither a caption nor a mask with size and counts`);
  }
  if (captions.length > 0 && masks.length > 0) throw fail("captions and masks are mixed");
  const ids = values.map((value) => (isRecord(value) && value.id !== undefined ? String(value.id) : undefined));
  return masks.length > 0
    ? { name: path, ids, kind: "masks", items: masks }
    : { name: path, ids, kind: "captions", items: captions };
}

/** Entries of a JSON or JSONL file; null for plain text. */
function jsonValues(
  text: string,
  lines: readonly string[],
  path: string,
  fail: (cause: string) => LabError,
): unknown[] | null {
  const declared = /\.jsonl?$/iu.test(path);
  // Plain text may begin with a bracket; only a file with a JSON ending must be JSON.
  if (!declared && !/^\s*[[{]/u.test(text)) return null;
  const whole = tryJson(text);
  if (whole !== undefined && !(/\.jsonl$/iu.test(path) && !Array.isArray(whole))) {
    return Array.isArray(whole) ? whole : [whole];
  }
  const values: unknown[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const value = tryJson(line);
    if (value === undefined) {
      if (declared) throw fail(`line ${at + 1} is not valid JSON`);
      return null;
    }
    values.push(value);
  }
  return values;
}

/** The value of a JSON text; undefined if it is not JSON (JSON itself has no undefined). */
function tryJson(text: string): unknown {
  try {
    return parseJson(text, "The pair");
  } catch (thrown) {
    if (thrown instanceof LabError) return undefined;
    throw thrown;
  }
}

function maskOf(value: unknown): unknown {
  if (!isRecord(value)) return undefined;
  if ("counts" in value) return value;
  return MASK_KEYS.map((key) => value[key]).find(isRecord);
}
