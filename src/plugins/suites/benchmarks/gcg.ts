/** Masks and phrases of grounded conversations, counted as the released GCG script does: AP50, mIoU, recall. */

import { pythonWords } from "../../../engine/bytes/text.ts";
import { maskIou, type Rle } from "../../../engine/data/mask/rle.ts";
import type { ClusterStatistic, Clusters } from "../../../engine/eval/bootstrap.ts";

/** True and predicted masks and texts of a picture. */
export interface GcgPicture {
  /** With the type that the data give it, which decides the order of pictures. */
  readonly id: string | number;
  /** No mask is empty, true or predicted. */
  readonly masks: readonly Rle[];
  /** The i-th label belongs to the i-th mask. */
  readonly labels: readonly string[];
  readonly predictedMasks: readonly Rle[];
  readonly predictedPhrases: readonly string[];
}

/** Similarity of a true label and a predicted phrase, 0..1. */
export type PhraseSimilarity = (label: string, phrase: string) => number;

/** Intersection over union of the sets of lower-case words, 0..1; 0 if neither text has a word. */
export function wordIou(label: string, phrase: string): number {
  const [one, two] = [label, phrase].map((text) => new Set(pythonWords(text.toLowerCase()))) as [
    Set<string>,
    Set<string>,
  ];
  const both = [...one].filter((word) => two.has(word)).length;
  return both === 0 ? 0 : both / (one.size + two.size - both);
}

/** Minimum IoU and similarity of a pair that counts. */
const BOUND = 0.5;
/** Maximum detections per picture. */
const MOST_DETECTIONS = 100;
/** Recalls at which precision is read. */
const RECALLS = 101;

/** IoU of every true mask (rows) with every predicted one. */
export function iouMatrix({ masks, predictedMasks }: GcgPicture): number[][] {
  return masks.map((mask) => predictedMasks.map((predicted) => maskIou(mask, predicted).iou));
}

/** Mean IoU of pairs chosen greedily, largest first; 0 without a pair. Unpaired masks do not count. */
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
 * Pairs [label, phrase] that count for recall. If a winning mask has no phrase, the picture has no pairs: the original
 * stops there with an error that it catches.
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

/** The largest value; the first in row-major order if several are equal. */
function largest(matrix: readonly (readonly number[])[]): Cell | undefined {
  let best: Cell | undefined;
  for (const [row, values] of matrix.entries()) {
    for (const [column, value] of values.entries()) if (value > (best?.value ?? -1)) best = { row, column, value };
  }
  return best;
}

function strike(matrix: number[][], { row, column }: Cell): void {
  matrix[row]?.fill(0);
  for (const values of matrix) values[column] = 0;
}

/**
 * Average precision of drawn clusters at an IoU bound, computed as COCO does for detections of equal score. Pictures
 * are sorted by id, numbers by value and names by code points; one drawn twice counts twice. Detections keep their order; each takes the unmatched
 * truth of largest IoU, the last of equal ones.
 */
export function averagePrecision(
  pictures: readonly GcgPicture[],
  matrices: readonly (readonly (readonly number[])[])[],
  { of, names }: Clusters,
  bound = BOUND,
): ClusterStatistic {
  const order = pictures
    .map((_, at) => at)
    .sort((a, b) => compareIds((pictures[a] as GcgPicture).id, (pictures[b] as GcgPicture).id));
  const hits = pictures.map((picture, at) => pictureHits(picture, matrices[at] ?? [], bound));
  return (drawn) => {
    const times = new Uint32Array(names.length);
    for (let at = 0; at < drawn.length; at++) times[drawn[at] as number] = (times[drawn[at] as number] as number) + 1;
    const found: boolean[][] = [];
    let truths = 0;
    for (const at of order) {
      for (let copy = times[of[at] as number] as number; copy > 0; copy--) {
        found.push(hits[at] as boolean[]);
        truths += pictures[at]?.masks.length ?? 0;
      }
    }
    return hitPrecision(found, truths);
  };
}

/** Whether each detection of a picture finds a truth, in order. */
function pictureHits(
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
function hitPrecision(pictures: readonly (readonly boolean[])[], truths: number): number {
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

/** Order of ids as Python sorts them: numbers by value, then names by code points. */
function compareIds(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  const [one, two] = [[...String(a)], [...String(b)]];
  for (let at = 0; at < Math.min(one.length, two.length); at++) {
    const difference = (one[at]?.codePointAt(0) as number) - (two[at]?.codePointAt(0) as number);
    if (difference !== 0) return difference;
  }
  return one.length - two.length;
}
