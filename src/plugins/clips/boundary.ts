/** J, F and J&F of the DAVIS evaluation, for one frame and for one masklet (docs/spec/video.md#11-scores). */

import { frameOf } from "../../engine/data/film-strip.ts";
import { decodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";

/** A mask of one frame, 0 or 1 row-major. */
export interface FrameMask {
  readonly data: ArrayLike<number>;
  readonly height: number;
  readonly width: number;
}

/** Share of the image's diagonal within which two boundaries count as the same. */
const BOUND_SHARE = 0.008;

interface BoundaryScore {
  readonly f: number;
  readonly precision: number;
  readonly recall: number;
  /** Pixels. */
  readonly radius: number;
  /** Number of boundary pixels of prediction and truth, and of those near the other's boundary. */
  readonly predicted: number;
  readonly true: number;
  readonly matchedPrediction: number;
  readonly matchedTruth: number;
}

/**
 * Intersection of two masks over their union, 0..1; 1 if both are empty.
 * @throws LabError("bad-input") for different sizes
 */
export function regionSimilarity(truth: FrameMask, found: FrameMask): number {
  checkSizes(truth, found);
  let [both, either] = [0, 0];
  for (let at = 0; at < truth.data.length; at++) {
    const [a, b] = [truth.data[at] !== 0, found.data[at] !== 0];
    if (a && b) both++;
    if (a || b) either++;
  }
  return either === 0 ? 1 : both / either;
}

/** One score per frame: null if both masks are empty, undefined if there is no answer yet. */
export type FrameScores = readonly (number | null | undefined)[];

/** Scores of the frames that have one. */
export function knownScores(scores: FrameScores): number[] {
  return scores.filter((score) => typeof score === "number");
}

/**
 * One score per frame, null if both masks are empty.
 * @param frames number of frames in both strips of masks
 * @throws LabError("bad-input") for masks of two sizes
 */
export function frameScores(
  given: Rle,
  found: Rle,
  frames: number,
  compare: (given: FrameMask, found: FrameMask) => number = regionSimilarity,
): (number | null)[] {
  const [height, width] = given.size;
  const [truth, answer] = [decodeRle(given), decodeRle(found)];
  const size = { height: height / frames, width };
  return Array.from({ length: frames }, (_, frame) => {
    const [own, other] = [frameOf(truth, frames, frame), frameOf(answer, frames, frame)];
    if (!own.includes(1) && !other.includes(1)) return null;
    return compare({ data: own, ...size }, { data: other, ...size });
  });
}

/**
 * Boundary accuracy: F score of the boundaries' precision and recall within a disk.
 * @param bound share of the diagonal; values of at least 1 are a radius in pixels
 * @throws LabError("bad-input") for different sizes
 */
export function boundaryScore(truth: FrameMask, found: FrameMask, bound: number = BOUND_SHARE): BoundaryScore {
  checkSizes(truth, found);
  const { height, width } = truth;
  const radius = bound >= 1 ? Math.trunc(bound) : Math.ceil(bound * Math.sqrt(height * height + width * width));
  const [own, real] = [boundaryMap(found), boundaryMap(truth)];
  const [predicted, wanted] = [count(own), count(real)];
  const matchedPrediction = near(own, real, height, width, radius);
  const matchedTruth = near(real, own, height, width, radius);
  let [precision, recall] = [matchedPrediction / predicted, matchedTruth / wanted];
  if (predicted === 0 || wanted === 0) {
    precision = predicted === 0 ? 1 : 0;
    recall = wanted === 0 ? 1 : 0;
  }
  const f = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { f, precision, recall, radius, predicted, true: wanted, matchedPrediction, matchedTruth };
}

/**
 * Pixels that differ from their right, lower or lower right neighbour; the last row and column compare only along
 * themselves.
 * @returns [height · width]
 */
function boundaryMap({ data, height, width }: FrameMask): Uint8Array {
  const out = new Uint8Array(height * width);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      const own = data[at] !== 0;
      const [last, end] = [y === height - 1, x === width - 1];
      const right = !end && (data[at + 1] !== 0) !== own;
      const below = !last && (data[at + width] !== 0) !== own;
      const corner = !last && !end && (data[at + width + 1] !== 0) !== own;
      out[at] = right || below || corner ? 1 : 0;
    }
  }
  return out;
}

function count(map: Uint8Array): number {
  return map.reduce((sum, pixel) => sum + pixel, 0);
}

/** Pixels of `map` within `radius` of one of `other`. */
function near(map: Uint8Array, other: Uint8Array, height: number, width: number, radius: number): number {
  const squares = distances(other, height, width);
  let found = 0;
  for (let at = 0; at < map.length; at++) if (map[at] === 1 && (squares[at] as number) <= radius * radius) found++;
  return found;
}

/** Squared distance of every pixel to the nearest set one: columns first, then the lower envelope of parabolas by row. */
function distances(map: Uint8Array, height: number, width: number): Float64Array {
  const out = new Float64Array(height * width).fill(Number.POSITIVE_INFINITY);
  for (let x = 0; x < width; x++) {
    let last = Number.NEGATIVE_INFINITY;
    for (let y = 0; y < height; y++) {
      if (map[y * width + x] === 1) last = y;
      out[y * width + x] = (y - last) ** 2;
    }
    last = Number.POSITIVE_INFINITY;
    for (let y = height - 1; y >= 0; y--) {
      if (map[y * width + x] === 1) last = y;
      out[y * width + x] = Math.min(out[y * width + x] as number, (last - y) ** 2);
    }
  }
  const row = new Float64Array(width);
  for (let y = 0; y < height; y++) {
    envelope(out.subarray(y * width, (y + 1) * width), row);
    out.set(row, y * width);
  }
  return out;
}

/** into[x] = min over i of (x − i)² + heights[i]. */
function envelope(heights: Float64Array, into: Float64Array): void {
  const places: number[] = [];
  const starts: number[] = [];
  const meeting = (a: number, b: number): number =>
    ((heights[b] as number) + b * b - ((heights[a] as number) + a * a)) / (2 * (b - a));
  for (let x = 0; x < heights.length; x++) {
    if (heights[x] === Number.POSITIVE_INFINITY) continue;
    while (places.length > 0 && meeting(places.at(-1) as number, x) <= (starts.at(-1) as number)) {
      places.pop();
      starts.pop();
    }
    starts.push(places.length === 0 ? Number.NEGATIVE_INFINITY : meeting(places.at(-1) as number, x));
    places.push(x);
  }
  let at = 0;
  for (let x = 0; x < heights.length; x++) {
    while (at + 1 < places.length && (starts[at + 1] as number) <= x) at++;
    const place = places[at];
    into[x] = place === undefined ? Number.POSITIVE_INFINITY : (x - place) ** 2 + (heights[place] as number);
  }
}

function checkSizes(truth: FrameMask, found: FrameMask): void {
  const wrong = [truth, found].find(({ data, height, width }) => data.length !== height * width);
  if (wrong === undefined && truth.height === found.height && truth.width === found.width) return;
  throw badInput(
    `Masks of ${truth.height} x ${truth.width} and ${found.height} x ${found.width} pixels cannot be compared`,
  );
}
