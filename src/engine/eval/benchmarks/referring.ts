/**
 * Referring segmentation as the evaluators of Sa2VA and LISA count it, one row a sentence: the pixels of all sentences
 * together (cIoU), the mean of the sentences' IoU (gIoU), the share of sentences that reach a bound (P@x)
 * (docs/spec/evaluation.md#15-counting).
 */

import { mergeRles, type Rle } from "../../data/mask/rle.ts";
import { maskIou } from "../../data/mask/rle-compare.ts";

/** Pixel counts of a sentence. */
export interface Overlap {
  readonly intersection: number;
  readonly union: number;
}

/**
 * How a sentence is counted.
 * - `sa2va-2025-10`: all predicted masks united; no mask counts as an empty one. The default, and what reports name.
 * - `sa2va-2024`: the first mask only; a sentence without a mask adds nothing to the pixels and 0 to gIoU. The rule of
 *   the evaluator that the published 1B to 26B models were scored with.
 */
export type ReferringRule = "sa2va-2025-10" | "sa2va-2024";

/** Pixel counts of a sentence; null where the rule skips it. @throws LabError("bad-input") when sizes differ */
export function sentenceOverlap(target: Rle, masks: readonly Rle[] | null, rule: ReferringRule): Overlap | null {
  const [first] = masks ?? [];
  if (first === undefined) {
    if (rule === "sa2va-2024") return null;
    const { intersection: area } = maskIou(target, target);
    return { intersection: 0, union: area };
  }
  const { intersection, union } = maskIou(target, rule === "sa2va-2024" ? first : mergeRles(masks ?? [], "union"));
  return { intersection, union };
}

/** Scores over sentences, 0..1. */
export interface ReferringScores {
  readonly sentences: number;
  readonly intersection: number;
  readonly union: number;
  readonly ciou: number;
  readonly giou: number;
  /** Share of sentences whose IoU reaches the bound (≥), by bound. A sentence without a pixel in either mask counts 0. */
  readonly precision: Readonly<Record<string, number>>;
}

export const PRECISION_BOUNDS = [0.5, 0.6, 0.7, 0.8, 0.9] as const;

/** IoU of a sentence in gIoU: 1 where both masks are empty, 0 where the rule skipped it. */
export function sentenceIou(overlap: Overlap | null): number {
  if (overlap === null) return 0;
  return overlap.union === 0 ? 1 : overlap.intersection / overlap.union;
}

/** @param overlaps one per sentence, null for those the rule skips; all scores are 0 when there is none */
export function referringScores(overlaps: readonly (Overlap | null)[]): ReferringScores {
  let [intersection, union, sum] = [0, 0, 0];
  const reached = PRECISION_BOUNDS.map(() => 0);
  for (const overlap of overlaps) {
    intersection += overlap?.intersection ?? 0;
    union += overlap?.union ?? 0;
    sum += sentenceIou(overlap);
    const iou = overlap === null || overlap.union === 0 ? 0 : overlap.intersection / overlap.union;
    for (const [at, bound] of PRECISION_BOUNDS.entries()) if (iou >= bound) reached[at] = (reached[at] as number) + 1;
  }
  const sentences = overlaps.length;
  const share = (value: number): number => (sentences === 0 ? 0 : value / sentences);
  const precision = PRECISION_BOUNDS.map((bound, at) => [String(bound), share(reached[at] as number)] as const);
  return {
    sentences,
    intersection,
    union,
    ciou: union === 0 ? 0 : intersection / union,
    giou: share(sum),
    precision: Object.fromEntries(precision),
  };
}
