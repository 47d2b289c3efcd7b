/** Referring segmentation with sentences that refer to nothing (gRefCOCO), as the ReLA evaluator counts it. */
import type { Overlap } from "./referring.ts";

/** A sentence with what the model declared of it. */
export interface GresRow extends Overlap {
  /** The sentence refers to nothing in the picture. */
  readonly noTarget: boolean;
  /** The model says so; for models without a head for it see `declaresNoTarget`. */
  readonly declared: boolean;
}

/** Fewest foreground pixels of a mask that stands for a target, for models that do not declare "no target". */
const FEWEST_PIXELS = 50;

/** Whether a mask of this many pixels counts as "no target". */
export function declaresNoTarget(pixels: number): boolean {
  return pixels < FEWEST_PIXELS;
}

/** Scores 0..1; null where no sentence of the kind is there. */
export interface GresScores {
  readonly giou: number;
  readonly ciou: number;
  /** Share of sentences without a target that the model declared so. */
  readonly noTargetAccuracy: number | null;
  /** Share of sentences with a target that the model took as such. */
  readonly targetAccuracy: number | null;
  /** Share of sentences with a target whose IoU reaches the bound (≥). */
  readonly precision: Readonly<Record<string, number | null>>;
}

export const GRES_BOUNDS = [0.7, 0.8, 0.9] as const;

/** IoU that a sentence adds to gIoU: 1 and 0 where either side has no target, whatever the mask. */
export function gresIou({ noTarget, declared, intersection, union }: GresRow): number {
  if (noTarget) return declared ? 1 : 0;
  return declared || union === 0 ? 0 : intersection / union;
}

/** @param rows at least one */
export function gresScores(rows: readonly GresRow[]): GresScores {
  let [sum, both, either] = [0, 0, 0];
  for (const row of rows) {
    sum += gresIou(row);
    if (row.noTarget && row.declared) continue;
    either += row.union;
    if (!row.noTarget && !row.declared) both += row.intersection;
  }
  const without = rows.filter(({ noTarget }) => noTarget);
  const within = rows.filter(({ noTarget }) => !noTarget);
  const share = (of: readonly GresRow[], test: (row: GresRow) => boolean): number | null =>
    of.length === 0 ? null : of.filter(test).length / of.length;
  return {
    giou: sum / rows.length,
    ciou: either === 0 ? 0 : both / either,
    noTargetAccuracy: share(without, ({ declared }) => declared),
    targetAccuracy: share(within, ({ declared }) => !declared),
    precision: Object.fromEntries(
      GRES_BOUNDS.map((bound) => [String(bound), share(within, (row) => gresIou(row) >= bound)]),
    ),
  };
}
