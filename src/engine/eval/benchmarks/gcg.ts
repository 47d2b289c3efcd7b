/** Masks and phrases of grounded conversations, counted as the released GCG script does: AP50, mIoU, recall. */

import { type Rle, rleIsEmpty } from "../../data/mask/rle.ts";
import { maskIou } from "../../data/mask/rle-compare.ts";
import { LabError } from "../../errors.ts";

/** A picture with what is true and what was predicted. */
export interface GcgPicture {
  readonly id: string;
  readonly masks: readonly Rle[];
  /** The i-th label belongs to the i-th mask. */
  readonly labels: readonly string[];
  readonly predictedMasks: readonly Rle[];
  readonly predictedPhrases: readonly string[];
}

export interface GcgScores {
  /** Average precision of the masks at IoU 0.5, all detections of one score. */
  readonly ap50: number;
  readonly miou: number;
  /** Labels found / labels, by the text similarity that was given. */
  readonly recall: number;
  readonly found: number;
  readonly labels: number;
}

/** Similarity of a true label and a predicted phrase, 0..1. */
export type PhraseSimilarity = (label: string, phrase: string) => number;

/** IoU and similarity from which a pair counts. */
export const BOUND = 0.5;
/** Detections of a picture that are looked at. */
const MOST_DETECTIONS = 100;
/** Recalls at which precision is read. */
const RECALLS = 101;

/**
 * IoU of every true mask (rows) with every predicted one.
 * @throws LabError("bad-input") for an empty mask: the original takes the 0/0 of two of them for the best match
 */
export function iouMatrix({ id, masks, predictedMasks }: GcgPicture): number[][] {
  if ([...masks, ...predictedMasks].some(rleIsEmpty)) {
    throw new LabError("bad-input", `${id} has an empty mask, which this benchmark cannot count; leave it out`);
  }
  return masks.map((mask) => predictedMasks.map((predicted) => maskIou(mask, predicted).iou));
}

/** Scores over pictures; recall stops in a picture at the first best pair that fails, as in the original. */
export function gcgScores(pictures: readonly GcgPicture[], similarity: PhraseSimilarity): GcgScores {
  const matrices = pictures.map(iouMatrix);
  let [found, labels, sum] = [0, 0, 0];
  for (const [at, picture] of pictures.entries()) {
    const matrix = matrices[at] as number[][];
    labels += picture.labels.length;
    sum += pictureMiou(matrix);
    found += matchedLabels(picture, matrix, similarity).length;
  }
  return {
    ap50: averagePrecision(pictures, matrices, BOUND),
    miou: pictures.length === 0 ? 0 : sum / pictures.length,
    recall: labels === 0 ? 0 : found / labels,
    found,
    labels,
  };
}

/** Mean IoU of pairs taken greedily from the largest on; 0 without a pair. What stays without a partner costs nothing. */
export function pictureMiou(matrix: readonly (readonly number[])[]): number {
  const open = matrix.map((row) => [...row]);
  let [sum, pairs] = [0, 0];
  for (let best = largest(open); best !== undefined && best.value > 0; best = largest(open)) {
    sum += best.value;
    pairs++;
    strike(open, best);
  }
  return pairs === 0 ? 0 : sum / pairs;
}

/**
 * Pairs [label, phrase] that count for recall. A winner among the masks beyond the phrases leaves the picture without
 * any: the original stops there with an error it swallows.
 */
export function matchedLabels(
  { labels, predictedPhrases }: Pick<GcgPicture, "labels" | "predictedPhrases">,
  matrix: readonly (readonly number[])[],
  similarity: PhraseSimilarity,
): [label: number, phrase: number][] {
  const open = matrix.map((row) => [...row]);
  const pairs: [number, number][] = [];
  for (let best = largest(open); best !== undefined && best.value >= BOUND; best = largest(open)) {
    const [label, phrase] = [labels[best.row], predictedPhrases[best.column]];
    if (label === undefined || phrase === undefined) return [];
    if (similarity(label, phrase) < BOUND) break;
    pairs.push([best.row, best.column]);
    strike(open, best);
  }
  return pairs;
}

interface Cell {
  readonly row: number;
  readonly column: number;
  readonly value: number;
}

/** The largest value, the first in row-major order where several are. */
function largest(matrix: readonly (readonly number[])[]): Cell | undefined {
  let best: Cell | undefined;
  for (const [row, values] of matrix.entries()) {
    for (const [column, value] of values.entries()) if (!(value <= (best?.value ?? -1))) best = { row, column, value };
  }
  return best;
}

function strike(matrix: number[][], { row, column }: Cell): void {
  matrix[row]?.fill(0);
  for (const values of matrix) values[column] = 0;
}

/**
 * Average precision at an IoU bound as COCO computes it, for detections of one score: pictures by id (code points),
 * detections as they stand, each with the free truth of the largest IoU, the later of equal ones.
 */
export function averagePrecision(
  pictures: readonly GcgPicture[],
  matrices: readonly (readonly (readonly number[])[])[],
  bound: number,
): number {
  const order = pictures.map((_, at) => at).sort((a, b) => compareIds(pictures[a]?.id ?? "", pictures[b]?.id ?? ""));
  const hits = order.map((at) => pictureHits(pictures[at] as GcgPicture, matrices[at] ?? [], bound));
  return hitPrecision(
    hits,
    pictures.reduce((sum, { masks }) => sum + masks.length, 0),
  );
}

/** Whether each detection of a picture finds a truth, in order. */
export function pictureHits(
  { predictedMasks }: Pick<GcgPicture, "predictedMasks">,
  matrix: readonly (readonly number[])[],
  bound: number,
): boolean[] {
  const taken = new Set<number>();
  return predictedMasks.slice(0, MOST_DETECTIONS).map((_, column) => {
    let [best, match] = [Math.min(bound, 1 - 1e-10), -1];
    for (const [row, values] of matrix.entries()) {
      if (taken.has(row) || (values[column] as number) < best) continue;
      [best, match] = [values[column] as number, row];
    }
    if (match >= 0) taken.add(match);
    return match >= 0;
  });
}

/** Average precision of the hits of pictures in order. @param truths masks that could have been found */
export function hitPrecision(pictures: readonly (readonly boolean[])[], truths: number): number {
  if (truths === 0) return 0;
  const [precision, recall]: [number[], number[]] = [[], []];
  let right = 0;
  for (const hits of pictures) {
    for (const hit of hits) {
      right += hit ? 1 : 0;
      precision.push(right / (precision.length + 1));
      recall.push(right / truths);
    }
  }
  for (let at = precision.length - 2; at >= 0; at--) {
    precision[at] = Math.max(precision[at] as number, precision[at + 1] as number);
  }
  let [sum, at] = [0, 0];
  for (let step = 0; step < RECALLS; step++) {
    // numpy's linspace multiplies: 0.07 is 0.07000000000000001 there, and a recall of 7 in 100 does not reach it.
    while (at < recall.length && (recall[at] as number) < step * (1 / (RECALLS - 1))) at++;
    sum += precision[at] ?? 0;
  }
  return sum / RECALLS;
}

/** Order of ids by code points. */
export function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
