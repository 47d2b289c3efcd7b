import { latin1 } from "../../bytes/text.ts";
import { badInput, type LabError } from "../../errors.ts";

/**
 * COCO compressed run-length mask; `size` is [height, width], runs are column-major
 * (docs/spec/rewards.md#1-masks-coco-run-length-encoding).
 */
export interface Rle {
  readonly size: readonly [number, number];
  readonly counts: string;
}

/** Maximum pixels of a mask or picture: 2^26, more than a phone's 64 megapixels. Checked before allocation. */
export const MAX_MASK_PIXELS = 2 ** 26;

/** Maximum length of a mask text; zero-length runs, which are legal, would make it unbounded. */
const MAX_TEXT = 2 ** 24;

/** Maximum groups of five bits per number: six hold every run and difference up to MAX_MASK_PIXELS. */
const MAX_GROUPS = 6;
const ASCII = new TextDecoder();
/** Initial capacity for the text of a mask. */
const CODES = new Uint8Array(2 ** 14);
const FIRST_CHARACTER = 48;
const LAST_CHARACTER = 111;

/**
 * Validated height and width of a mask.
 * @throws LabError("bad-input") unless both are whole numbers of at least 1 with a product of at most MAX_MASK_PIXELS
 */
export function checkMaskSize(height: number, width: number): void {
  if (!Number.isInteger(height) || !Number.isInteger(width) || height < 1 || width < 1) {
    throw badInput(`mask size [${height}, ${width}] is not a pair of whole numbers of at least 1`);
  }
  if (height * width > MAX_MASK_PIXELS) {
    throw badInput(
      `mask size [${height}, ${width}] has ${height * width} pixels, more than the ${MAX_MASK_PIXELS} allowed`,
    );
  }
}

/**
 * Run lengths of a compressed mask: background first, column-major, their sum is height * width.
 * Zero-length runs are kept (they are legal, although encoders do not write them inside a string).
 * @throws LabError("bad-input") for a bad size, a character outside "0".."o", a string that ends inside a number,
 *   a number that is too long, a negative run or a sum that is not height * width
 */
export function rleRuns(rle: Rle): number[] {
  const runs: number[] = [];
  eachRun(rle, (run) => runs.push(run));
  return runs;
}

/** Calls `use` with each run and its place, as `rleRuns` lists them. @throws LabError as `rleRuns` does */
export function eachRun(rle: Rle, use: (run: number, index: number) => void): void {
  const [height, width] = rle.size;
  checkMaskSize(height, width);
  const pixels = height * width;
  const { counts } = rle;
  if (counts.length > MAX_TEXT) throw badInput(`mask text has ${counts.length} characters, more than ${MAX_TEXT}`);
  // The two previous runs: from the fourth on, a run is stored as its difference from the previous run of its colour.
  let [before, last, index] = [0, 0, 0];
  let total = 0;
  let at = 0;
  while (at < counts.length) {
    const start = at;
    let value = 0;
    let group: number;
    do {
      if (at >= counts.length) throw badInput(`mask text ends inside a number (after ${counts.length} characters)`);
      if (at - start === MAX_GROUPS) {
        throw badInput(`mask text has a number of more than ${MAX_GROUPS} characters at ${start}`);
      }
      const code = counts.charCodeAt(at);
      if (code < FIRST_CHARACTER || code > LAST_CHARACTER) {
        throw badInput(`mask text has the character ${JSON.stringify(counts[at])} at ${at}`);
      }
      group = code - FIRST_CHARACTER;
      value |= (group & 31) << (5 * (at - start));
      at++;
    } while ((group & 32) !== 0);
    // Bit 4 of the last group is the sign of the whole number.
    if ((group & 16) !== 0) value |= -1 << (5 * (at - start));
    const run = index > 2 ? value + before : value;
    if (run < 0) throw badInput(`mask run ${index} is negative (${run})`);
    total += run;
    if (total > pixels) throw sumError(`more than ${pixels}`, height, width);
    use(run, index++);
    before = last;
    last = run;
  }
  if (total !== pixels) throw sumError(`${total}`, height, width);
}

/**
 * The compressed form of run lengths (background first, column-major), unchanged.
 * @throws LabError("bad-input") for an invalid size, a run that is not a whole number from 0, or a wrong sum
 */
export function rleFromRuns(runs: readonly number[], height: number, width: number): Rle {
  checkMaskSize(height, width);
  const pixels = height * width;
  const room = MAX_GROUPS * runs.length;
  const codes = room <= CODES.length ? CODES : new Uint8Array(room);
  let written = 0;
  let total = 0;
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if (!Number.isInteger(run) || run < 0)
      throw badInput(`mask run ${index} is ${run}, not a whole number of at least 0`);
    total += run;
    if (total > pixels) throw sumError(`more than ${pixels}`, height, width);
    // From the fourth run on, the difference from the previous run of the same colour is written.
    let value = index > 2 ? run - (runs[index - 2] as number) : run;
    let more: boolean;
    do {
      let group = value & 31;
      value >>= 5;
      more = (group & 16) !== 0 ? value !== -1 : value !== 0;
      if (more) group |= 32;
      codes[written++] = group + FIRST_CHARACTER;
    } while (more);
  }
  if (total !== pixels) throw sumError(`${total}`, height, width);
  return { size: [height, width], counts: ASCII.decode(codes.subarray(0, written)) };
}

/** The canonical form: zero-length runs only at the start, adjacent runs of one colour joined. */
export function canonicalRuns(runs: readonly number[]): number[] {
  const out: number[] = [0];
  let colour = 0;
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if (run === 0) continue;
    if ((index & 1) !== colour) {
      out.push(0);
      colour = index & 1;
    }
    out[out.length - 1] = (out[out.length - 1] as number) + run;
  }
  return out;
}

/**
 * A mask from a file, validated and in compressed form. `counts` may be the compressed text, the same as
 * bytes, or a list of run lengths; `size` a list of two numbers or big integers.
 * @throws LabError("bad-input") with one sentence when it is none of these or does not decode
 */
export function parseRle(value: unknown): Rle {
  if (typeof value !== "object" || value === null) throw badInput("the mask is not a counts/size pair");
  const { counts, size } = value as { counts?: unknown; size?: unknown };
  const sides = numberList(size);
  if (sides === undefined || sides.length !== 2) {
    throw badInput("mask size is not a list of two numbers [height, width]");
  }
  const [height, width] = sides as [number, number];
  if (typeof counts === "string" || counts instanceof Uint8Array) {
    const text = typeof counts === "string" ? counts : latin1(counts);
    const rle: Rle = { size: [height, width], counts: text };
    rleRuns(rle);
    return rle;
  }
  const runs = numberList(counts);
  if (runs === undefined) throw badInput("mask counts are neither text, bytes nor a list of numbers");
  return rleFromRuns(runs, height, width);
}

function sumError(sum: string, height: number, width: number): LabError {
  return badInput(`mask runs add up to ${sum}, not ${height} x ${width} = ${height * width}`);
}

/** Numbers of an array or typed array of numbers or big integers; undefined for anything else. */
function numberList(value: unknown): number[] | undefined {
  const list = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : undefined;
  if (list === undefined) return undefined;
  const numbers: number[] = [];
  for (const item of list) {
    if (typeof item !== "number" && typeof item !== "bigint") return undefined;
    numbers.push(Number(item));
  }
  return numbers;
}
