/** Reward terms of rows with several frames. */

import type { RolloutFacts } from "../../engine/rewards/term.ts";
import { type Measured, NO_GIVEN, type TermSpec } from "../../engine/rewards/terms/spec.ts";
import { boundaryScore, frameScores, regionSimilarity } from "./boundary.ts";

/** J and F of the frames of a clip (docs/spec/video.md#11-scores); a rollout of a picture has neither. */
type Compare = typeof regionSimilarity;

/**
 * Mean over the frames with a non-empty mask; on the others a single stray pixel would change the score from 1 to 0.
 */
const framesTerm =
  (compare: Compare) =>
  ({ frames, given, predicted }: RolloutFacts): Measured | undefined => {
    if (frames === undefined) return undefined;
    if (given === null) return NO_GIVEN;
    if (predicted === null) return { value: 0, note: "no mask" };
    const scores = frameScores(given, predicted, frames, compare).filter((score) => score !== null);
    if (scores.length === 0) return { value: 1, note: "both masks empty" };
    const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    return { value, note: `${scores.length} frames` };
  };

export const J = {
  name: "j",
  label: "J",
  help: "Mean IoU of given and predicted mask over the frames of a clip that show either; weights of 0.5 for J and F give J&F",
  measure: framesTerm(regionSimilarity),
} as const satisfies TermSpec;

export const F = {
  name: "f",
  label: "F",
  help: "Mean boundary accuracy over the frames of a clip that show either mask, at the frames' own size",
  measure: framesTerm((truth, found) => boundaryScore(truth, found).f),
} as const satisfies TermSpec;
