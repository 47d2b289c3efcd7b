/** The answers behind a score of a held-out row. */
import type { Rle } from "../../../engine/data/mask/rle.ts";
import { aboutLoop, isLoop, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import { rowScoreOf, type ScoreId } from "../../../engine/runs/evaluation-scores.ts";
import type { RowScores } from "../../../engine/runs/evaluations.ts";

export interface RowAnswer {
  readonly caption: string;
  readonly mask: Rle | null;
  /** IoU or METEOR of this answer; null where it was not stored. */
  readonly score: number | null;
  readonly greedy: boolean;
}

/** Loop of a score; null for one that compares with the data set alone. */
function loopOf(id: ScoreId): LoopId | null {
  const loop = Number(/^(?:loop|reward)(\d)_/.exec(id)?.[1]);
  return isLoop(loop) ? loop : null;
}

/** Whether a score is about masks of the policy, not about the partner's masks for its captions. */
export function ofMasks(id: ScoreId): boolean {
  const loop = loopOf(id);
  return id === "grounding_iou" || (loop !== null && aboutLoop(loop).samples === "mask");
}

export function isSampled(id: ScoreId): boolean {
  return id.endsWith("_sampled");
}

/** The sampled answers of a sampled score, else the greedy one; older versions kept only the greedy one. */
export function answersOf(row: RowScores, id: ScoreId): readonly RowAnswer[] {
  const loop = loopOf(id);
  const drawn = isSampled(id) && loop !== null ? row.drawn?.[loop] : undefined;
  return drawn === undefined
    ? [greedyAnswer(row, id)]
    : drawn.map(({ caption, mask, score }) => ({ caption, mask, score, greedy: false }));
}

/** The answer without sampling. */
export function greedyAnswer(row: RowScores, id: ScoreId): RowAnswer {
  const score = rowScoreOf(row, id.replace("_sampled", "_greedy") as ScoreId);
  return ofMasks(id)
    ? { caption: row.captionPrime, mask: row.maskGreedy, score, greedy: true }
    : { caption: row.captionGreedy, mask: row.maskPrime, score, greedy: true };
}
