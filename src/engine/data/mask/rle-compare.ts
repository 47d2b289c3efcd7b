import { badInput, LabError } from "../../errors.ts";
import { canonicalRuns, type Rle, rleFromRuns, rleRuns } from "./rle-runs.ts";

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
