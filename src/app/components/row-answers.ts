import { aboutLoop, isLoop, type LoopId } from "../../engine/rl/loops/abouts.ts";
import { rowScoreOf, type ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { Drawn, RowScores } from "../../engine/runs/evaluations/evaluations.ts";

/** `score` is null where it was not stored. */
export interface RowAnswer extends Omit<Drawn, "weight"> {
  /** Whose mask it is. */
  readonly maskOf: "policy" | "partner";
  readonly greedy: boolean;
}

/** Loop of a score; null for one that compares with the data set alone. */
function loopOf(id: ScoreId): LoopId | null {
  const loop = Number(/^(?:loop|reward)(\d)_/.exec(id)?.[1]);
  return isLoop(loop) ? loop : null;
}

/** The policy, or the partner where the score is about its masks for the policy's captions. */
function maskOwner(id: ScoreId): RowAnswer["maskOf"] {
  const loop = loopOf(id);
  return id === "grounding_iou" || (loop !== null && aboutLoop(loop).samples === "mask") ? "policy" : "partner";
}

export function isSampled(id: ScoreId): boolean {
  return id.endsWith("_sampled");
}

/** The sampled answers of a sampled score, else the greedy one. */
export function answersOf(row: RowScores, id: ScoreId): readonly RowAnswer[] {
  const loop = loopOf(id);
  const drawn = isSampled(id) && loop !== null ? row.drawn[loop] : undefined;
  return drawn === undefined
    ? [greedyAnswer(row, id)]
    : drawn.map(({ caption, mask, score }) => ({ caption, mask, maskOf: maskOwner(id), score, greedy: false }));
}

/** The answer without sampling. */
export function greedyAnswer(row: RowScores, id: ScoreId): RowAnswer {
  const score = rowScoreOf(row, id.replace("_sampled", "_greedy") as ScoreId);
  const maskOf = maskOwner(id);
  return maskOf === "policy"
    ? { caption: row.captionPrime, mask: row.maskGreedy, maskOf, score, greedy: true }
    : { caption: row.captionGreedy, mask: row.maskPrime, maskOf, score, greedy: true };
}

/** The partner's own answer for a truth score; null for other scores. */
export function partnerAnswer(row: RowScores, id: ScoreId): RowAnswer | null {
  if (id === "grounding_iou") {
    return {
      caption: row.caption,
      mask: row.partnerMask,
      maskOf: "partner",
      score: row.partnerIou,
      greedy: true,
    };
  }
  if (id === "caption_meteor") {
    return {
      caption: row.partnerCaption,
      mask: null,
      maskOf: "partner",
      score: row.partnerMeteor ?? null,
      greedy: true,
    };
  }
  return null;
}
