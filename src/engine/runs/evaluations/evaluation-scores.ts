/** Scores of an evaluation by name, and a text for the score that chose a checkpoint. */
import { HELD_OUT_LOOPS } from "../../rl/loops/abouts.ts";
import { EVAL_METRICS, type EvalMetric, REWARD_METRICS, type RewardMetric } from "./evaluation-metrics.ts";
import type { EvalReport, Interval, RowScores, Selection } from "./evaluations.ts";

export type ScoreId = EvalMetric | RewardMetric;
/** Run rewards first, because the run trains on them. */
export const SCORES: readonly ScoreId[] = [...REWARD_METRICS, ...EVAL_METRICS];

export interface Score extends Interval {
  /** Number of rows in the mean. */
  readonly n: number;
  /** Paired difference from the baseline; null for the baseline itself. */
  readonly difference: Interval | null;
  /** The baseline's mean over the same rows; null for the baseline itself. */
  readonly start: number | null;
}

const isReward = (id: ScoreId): id is RewardMetric => (REWARD_METRICS as readonly string[]).includes(id);

/**
 * Null if the report lacks it: a loop that does not train, no verdict for any row, or a mean that was not finite.
 */
export function scoreOf(report: EvalReport, id: ScoreId): Score | null {
  const score = isReward(id) ? report.reward.scores[id] : meanOf(report, id);
  if (!isKnown(score)) return null;
  const difference = isKnown(score.difference) ? score.difference : null;
  return { ...score, difference, start: difference === null ? null : score.mean - difference.mean };
}

/** Rows that lack a score and are in none of its numbers; "" if there are none. @param n rows that have it, of `all` */
export function lackingText(n: number, all: number): string {
  return n === all ? "" : `${all - n} of ${all} rows lack this score at a step and are left out`;
}

function meanOf({ ci, means, n, difference }: EvalReport, id: EvalMetric): Omit<Score, "start"> {
  const [low, high] = ci[id];
  return { mean: means[id], low, high, n, difference: difference?.[id] ?? null };
}

/** Values that were not finite are stored as null. */
function isKnown<T extends Interval>(interval: T | null | undefined): interval is T {
  return Number.isFinite(interval?.mean);
}

/** A row's score; null if it has none. */
export function rowScoreOf(row: RowScores, id: ScoreId): number | null {
  return isReward(id) ? (row.rewards[id] ?? null) : row[id];
}

/** The choices of the setting bestMetric, as used in a sentence. */
export const SELECTION_NAMES: Readonly<Record<Selection["metric"], string>> = {
  reward: "run reward, sampled",
  reward_greedy: "run reward, greedy",
  ...(Object.fromEntries(
    HELD_OUT_LOOPS.flatMap(({ id, score }) => [
      [`loop${id}_sampled`, `loop ${id} ${score}, sampled`],
      [`loop${id}_greedy`, `loop ${id} ${score}, greedy`],
    ]),
  ) as Readonly<Record<Exclude<EvalMetric, "grounding_iou" | "caption_meteor">, string>>),
  grounding_iou: "grounding IoU",
  caption_meteor: "caption METEOR",
};

/** The score that chooses the best checkpoint, plus ", without judge" if the reward's judge was not called. */
export function selectionName({ selection, reward }: Pick<EvalReport, "selection" | "reward">): string {
  if (selection === null) return "none";
  const own = selection.metric === "reward" || selection.metric === "reward_greedy";
  return `${SELECTION_NAMES[selection.metric]}${own && reward.judge === "left-out" ? ", without judge" : ""}`;
}

/** What the held-out rows do that the numbers of an evaluation leave out: ", 8 more rows choose the best checkpoint"; "" without any. */
export function chooseText({ selection }: Pick<EvalReport, "selection">): string {
  return selection == null
    ? ""
    : `, ${selection.n} more ${selection.n === 1 ? "row chooses" : "rows choose"} the best checkpoint`;
}

/** Number of pictures of the report rows. */
export function reportPictures(rows: readonly RowScores[]): number {
  return new Set(rows.filter(({ part }) => part === "report").map(({ imageId }) => imageId)).size;
}
