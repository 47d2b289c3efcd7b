import { latin1 } from "../../bytes/text.ts";
import { badInput, LabError } from "../../errors.ts";
import type { ReadMeter } from "../tables/table.ts";

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

/** Pixel counts of a pair of masks. `iou` is 0 if the union is empty, so that empty predictions get no reward. */
export interface MaskIou {
  readonly intersection: number;
  readonly union: number;
  /** intersection / union, 0..1. */
  readonly iou: number;
}

/**
 * Intersection over union of two masks of one size, both as RLE or both as pixels (any value except 0 is foreground).
 * Pixels of one mask must be in the same order as those of the other.
 * @throws LabError("bad-input") when the sizes differ (the reference code returns -1)
 */
export function maskIou(a: Rle, b: Rle): MaskIou;
export function maskIou(a: ArrayLike<number>, b: ArrayLike<number>): MaskIou;
export function maskIou(a: Rle | ArrayLike<number>, b: Rle | ArrayLike<number>): MaskIou {
  if ("counts" in a && "counts" in b) return score(overlap(a, b));
  if ("counts" in a || "counts" in b) throw new LabError("internal", "maskIou compares two masks of the same form");
  if (a.length !== b.length) throw badInput(`masks of ${a.length} and ${b.length} pixels cannot be compared`);
  let [both, either] = [0, 0];
  for (let at = 0; at < a.length; at++) {
    if (a[at] !== 0) {
      either++;
      if (b[at] !== 0) both++;
    } else if (b[at] !== 0) either++;
  }
  return score({ both, either });
}

/** Similarity of two masks of the same size: their IoU, or 1 if both are empty. */
export function maskLikeness(a: Rle, b: Rle): number;
export function maskLikeness(a: ArrayLike<number>, b: ArrayLike<number>): number;
export function maskLikeness(a: Rle | ArrayLike<number>, b: Rle | ArrayLike<number>): number {
  const { iou, union } = maskIou(a as Rle, b as Rle);
  return union === 0 ? 1 : iou;
}

/**
 * Share of the prediction that lies in a ground truth flagged `iscrowd`: intersection / area of the prediction,
 * 0 for an empty prediction.
 * @throws LabError("bad-input") when the sizes differ
 */
export function maskIouCrowd(prediction: Rle, crowd: Rle): number {
  const { both, areaA } = overlap(prediction, crowd);
  return areaA === 0 ? 0 : both / areaA;
}

/**
 * Union or intersection of masks of one size, in canonical form, even for a single mask.
 * @throws LabError("bad-input") for an empty list or differing sizes
 */
export function mergeRles(masks: readonly Rle[], how: "union" | "intersection"): Rle {
  const [first, ...others] = masks;
  if (first === undefined) throw badInput("there is no mask to merge");
  let runs = canonicalRuns(rleRuns(first));
  for (const other of others) {
    sameSize(first, other);
    const merged: number[] = [0];
    sweep(runs, rleRuns(other), (a, b, length) => {
      const foreground = how === "union" ? a || b : a && b;
      // Runs alternate from background: an even count means that the last run is foreground.
      if (foreground !== (merged.length % 2 === 0)) merged.push(length);
      else merged[merged.length - 1] = (merged[merged.length - 1] as number) + length;
    });
    runs = merged;
  }
  return rleFromRuns(runs, first.size[0], first.size[1]);
}

function score({ both, either }: { both: number; either: number }): MaskIou {
  return { intersection: both, union: either, iou: either === 0 ? 0 : both / either };
}

function overlap(a: Rle, b: Rle): { both: number; either: number; areaA: number } {
  sameSize(a, b);
  let [both, either, areaA] = [0, 0, 0];
  sweep(rleRuns(a), rleRuns(b), (inA, inB, length) => {
    if (inA && inB) both += length;
    if (inA || inB) either += length;
    if (inA) areaA += length;
  });
  return { both, either, areaA };
}

function sameSize(a: Rle, b: Rle): void {
  if (a.size[0] !== b.size[0] || a.size[1] !== b.size[1]) {
    throw badInput(`masks of size [${a.size.join(", ")}] and [${b.size.join(", ")}] cannot be compared`);
  }
}

/** Walks two masks of equal length; `visit` receives every range over which neither changes. */
function sweep(
  a: readonly number[],
  b: readonly number[],
  visit: (inA: boolean, inB: boolean, length: number) => void,
): void {
  let [indexA, indexB] = [0, 0];
  let [leftA, leftB] = [a[0] ?? 0, b[0] ?? 0];
  while (true) {
    while (leftA === 0 && indexA + 1 < a.length) leftA = a[++indexA] as number;
    while (leftB === 0 && indexB + 1 < b.length) leftB = b[++indexB] as number;
    const length = Math.min(leftA, leftB);
    if (length === 0) return;
    visit(indexA % 2 === 1, indexB % 2 === 1, length);
    leftA -= length;
    leftB -= length;
  }
}

/**
 * Pixels of a mask, row-major height * width, 0 or 1 (docs/spec/rewards.md#1-masks-coco-run-length-encoding). Decodes
 * any legal string, canonical or not.
 * @throws LabError("bad-input") when the string is not a mask of its size
 */
export function decodeRle(rle: Rle): Uint8Array<ArrayBuffer> {
  const [height, width] = rle.size;
  const runs = rleRuns(rle);
  const mask = new Uint8Array(height * width);
  let position = 0; // column-major: x * height + y
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if ((index & 1) === 1 && run > 0) {
      let x = Math.floor(position / height);
      let y = position - x * height;
      let left = run;
      while (left > 0) {
        const stop = Math.min(height, y + left);
        for (let at = y * width + x, end = stop * width + x; at < end; at += width) mask[at] = 1;
        left -= stop - y;
        x++;
        y = 0;
      }
    }
    position += run;
  }
  return mask;
}

/**
 * The canonical compressed form of a mask; any value other than 0 counts as foreground.
 * @param mask row-major pixels, length height * width
 * @throws LabError("bad-input") when the length does not match the size or the size is out of range
 */
export function encodeRle(mask: ArrayLike<number>, height: number, width: number): Rle {
  checkMaskSize(height, width);
  if (mask.length !== height * width) {
    throw badInput(`mask has ${mask.length} pixels, not ${height} x ${width} = ${height * width}`);
  }
  const runs: number[] = [];
  let colour = 0;
  let run = 0;
  for (let x = 0; x < width; x++) {
    for (let y = 0, at = x; y < height; y++, at += width) {
      const pixel = mask[at] === 0 ? 0 : 1;
      if (pixel !== colour) {
        runs.push(run);
        run = 0;
        colour = pixel;
      }
      run++;
    }
  }
  runs.push(run);
  return rleFromRuns(runs, height, width);
}

/** Foreground pixels, a whole number from 0 to height * width. */
export function rleArea(rle: Rle): number {
  let area = 0;
  eachRun(rle, (run, index) => {
    if (index % 2 === 1) area += run;
  });
  return area;
}

/** Whether a mask has no foreground pixel. */
export function rleIsEmpty(rle: Rle): boolean {
  return rleArea(rle) === 0;
}

/**
 * Bounding box [x, y, width, height] of the foreground in pixels; [0, 0, 0, 0] for an empty mask. Zero-length runs
 * do not widen it, which the reference's own box gets wrong.
 */
export function rleBox(rle: Rle): [number, number, number, number] {
  const [height] = rle.size;
  const runs = rleRuns(rle);
  let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
  let position = 0;
  for (let index = 0; index < runs.length; index++) {
    const run = runs[index] as number;
    if ((index & 1) === 1 && run > 0) {
      const last = position + run - 1;
      const [x0, x1] = [Math.floor(position / height), Math.floor(last / height)];
      // A run that crosses a column border contains the bottom of one column and the top of the next: full height.
      const [y0, y1] = x0 === x1 ? [position % height, last % height] : [0, height - 1];
      left = Math.min(left, x0);
      right = Math.max(right, x1);
      top = Math.min(top, y0);
      bottom = Math.max(bottom, y1);
    }
    position += run;
  }
  return right < 0 ? [0, 0, 0, 0] : [left, top, right - left + 1, bottom - top + 1];
}

/** Subdivision of the grid on which the outline is rasterised (cocoapi, maskApi). */
const SCALE = 5;
/** Grid line of a column's centre: 2, 7, 12, … */
const CENTRE = (SCALE - 1) / 2;
/** Largest coordinate on the grid, far above any annotation. */
const MAX_GRID = 2 ** 22;
/** Maximum crossings of column centres by one object. */
const MAX_CROSSINGS = 2 ** 22;
/** Crossings allowed for any object, however small its picture. */
const FREE_CROSSINGS = 2 ** 16;
/** Bytes that the meter of a pass counts for a crossing and its runs. */
const CROSSING_BYTES = 16;

/** Remaining crossings of one object. */
interface Budget {
  left: number;
  readonly most: number;
  readonly meter: ReadMeter | undefined;
}

/**
 * Mask of one object as the union of polygons [x0, y0, x1, y1, …] in pixels; equal to the reference C code pixel by
 * pixel, unlike a canvas fill. Parts may extend outside the picture; parts of fewer than three points cover nothing.
 * The work is bounded by the mask's area and the number of points: an outline with more crossings of columns than
 * 65,536 plus twice the pixels plus four times the points is refused.
 * @param meter counts the work against the limit of a pass over the file
 * @throws LabError("bad-input") for an odd number of coordinates, no part of three points, absurd coordinates or too many
 *   crossings
 */
export function rleFromPolygons(
  polygons: readonly (readonly number[])[],
  height: number,
  width: number,
  meter?: ReadMeter,
): Rle {
  checkMaskSize(height, width);
  if (polygons.length === 0) throw badInput("the mask has no polygon");
  const points = polygons.reduce((sum, polygon) => sum + polygon.length / 2, 0);
  const most = Math.min(MAX_CROSSINGS, FREE_CROSSINGS + 2 * height * width + 4 * points);
  const budget = { left: most, most, meter };
  const areas = polygons.filter((polygon) => polygon.length >= 6);
  const wrong = polygons.find((polygon) => polygon.length % 2 !== 0 || areas.length === 0);
  if (wrong !== undefined)
    throw badInput(`a polygon has ${wrong.length} coordinates, not an even number of at least 6`);
  return united(areas.map((polygon) => rasterise(polygon, height, width, budget)));
}

/** Union of the parts of one object, pairwise, so that the work is n log n. */
function united(parts: readonly Rle[]): Rle {
  if (parts.length <= 1) return parts[0] as Rle;
  const half = parts.length >> 1;
  return mergeRles([united(parts.slice(0, half)), united(parts.slice(half))], "union");
}

/**
 * Mask of a box [x, y, width, height] in pixels, with the rounding of the reference code.
 * @throws LabError("bad-input") for impossible coordinates or sizes
 */
export function rleFromBox(box: readonly [number, number, number, number], height: number, width: number): Rle {
  checkMaskSize(height, width);
  const [x, y] = box;
  const [x1, y1] = [x + box[2], y + box[3]];
  return rasterise([x, y, x, y1, x1, y1, x1, y], height, width, {
    left: MAX_CROSSINGS,
    most: MAX_CROSSINGS,
    meter: undefined,
  });
}

/** Capacity for crossings that is kept between outlines. */
const KEPT_CROSSINGS = 2 ** 13;
/** Crossings of the current outline; the buffer grows when needed. */
let scratch = new Int32Array(KEPT_CROSSINGS);

/** Finds where the outline crosses the centres of columns; between two crossings the mask does not change. */
function rasterise(polygon: readonly number[], height: number, width: number, budget: Budget): Rle {
  const { length } = polygon;
  let count = 0;
  let [x, y] = [gridPoint(polygon[0] as number), gridPoint(polygon[1] as number)];
  for (let at = 2; at <= length; at += 2) {
    const nextX = gridPoint(polygon[at % length] as number);
    const nextY = gridPoint(polygon[(at + 1) % length] as number);
    const after = crossEdge(x, y, nextX, nextY, height, width, count);
    x = nextX;
    y = nextY;
    const added = after - count;
    count = after;
    budget.left -= added;
    if (budget.left < 0) {
      const limit = `more than the ${budget.most} that ${width} x ${height} pixels and its points allow`;
      throw badInput(`the outline of the mask crosses columns too often, ${limit}`);
    }
    budget.meter?.take(CROSSING_BYTES * added);
  }
  const crossings = scratch.subarray(0, count).sort();
  // Two crossings at one place cancel, because there is no pixel between them.
  const runs: number[] = [];
  let [before, at] = [0, 0];
  while (at < count) {
    const place = crossings[at] as number;
    let same = at + 1;
    while (same < count && crossings[same] === place) same++;
    if ((same - at) % 2 === 1) {
      runs.push(place - before);
      before = place;
    }
    at = same;
  }
  if (scratch.length > KEPT_CROSSINGS) scratch = new Int32Array(KEPT_CROSSINGS);
  // An object that ends with the picture has no background after it.
  if (before < height * width || runs.length === 0) runs.push(height * width - before);
  return rleFromRuns(runs, height, width);
}

/** A coordinate on the grid. @throws LabError("bad-input") when it is absurd */
function gridPoint(coordinate: number): number {
  const scaled = Math.trunc(SCALE * coordinate + 0.5);
  if (Math.abs(scaled) < MAX_GRID) return scaled;
  throw badInput(`a polygon has the impossible coordinate ${coordinate}`);
}

/**
 * Writes the crossings of an edge from (startX, startY) to (endX, endY) on the grid into `scratch` from `count` on, as
 * column-major pixel numbers, and returns their total number. The reference follows the grid point by point; a crossing
 * lies between the grid lines m and m + 1, where m is the centre of a column, at the upper one of the two points. An
 * edge is always sampled from its end with the smaller coordinate, so that both polygons of a shared edge agree.
 */
function crossEdge(
  startX: number,
  startY: number,
  endX: number,
  endY: number,
  height: number,
  width: number,
  count: number,
): number {
  const dx = Math.abs(endX - startX);
  const dy = Math.abs(endY - startY);
  if (dx === 0) return count;
  const flat = dx >= dy;
  const flip = flat ? startX > endX : startY > endY;
  const fromX = flip ? endX : startX;
  const fromY = flip ? endY : startY;
  const slope = flat ? ((flip ? startY : endY) - fromY) / dx : ((flip ? startX : endX) - fromX) / dy;
  const low = Math.min(startX, endX);
  const first = Math.max(0, Math.ceil((low - CENTRE) / SCALE));
  const last = Math.min(width - 1, Math.floor((low + dx - 1 - CENTRE) / SCALE));
  if (last < first) return count;
  if (scratch.length < count + last - first + 1) {
    const larger = new Int32Array(2 * (count + last - first + 1));
    larger.set(scratch);
    scratch = larger;
  }
  let written = count;
  for (let column = first; column <= last; column++) {
    const line = SCALE * column + CENTRE;
    let gridY: number;
    if (flat) {
      const t = line - fromX;
      gridY = Math.min(Math.trunc(fromY + slope * t + 0.5), Math.trunc(fromY + slope * (t + 1) + 0.5));
    } else {
      // The last step before the gap between the two lines: near the place where the exact edge crosses it.
      let t = Math.min(dy - 1, Math.max(0, Math.floor((line + 0.5 - fromX) / slope)));
      while (t > 0 && !isBefore(t, line, fromX, slope)) t--;
      while (t < dy - 1 && isBefore(t + 1, line, fromX, slope)) t++;
      gridY = fromY + t;
    }
    const y = (gridY + 0.5) / SCALE - 0.5;
    scratch[written++] = column * height + Math.ceil(Math.min(Math.max(y, 0), height));
  }
  return written;
}

/** Whether step `t` of a steep edge lies before the gap that follows a grid line. */
function isBefore(t: number, line: number, fromX: number, slope: number): boolean {
  const x = Math.trunc(fromX + slope * t + 0.5);
  return slope > 0 ? x <= line : x > line;
}
