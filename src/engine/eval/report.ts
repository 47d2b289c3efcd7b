/** Row scores as the line that tools print and the run folder keeps. */
import { EVAL_METRICS, type EvalMetric, type EvalReport, type RowScores } from "../runs/evaluations.ts";
import { bootstrapMean, pairedDifference } from "./bootstrap.ts";
import { segmentationScores } from "./segmentation.ts";

const SEED = 1;

/** @param first scores of the run's first evaluation, over the same rows */
export function evalReport(step: number, scores: readonly RowScores[], first: readonly RowScores[] | null): EvalReport {
  const of = (rows: readonly RowScores[], metric: EvalMetric): number[] => rows.map((row) => row[metric]);
  const intervals = EVAL_METRICS.map((metric) => [metric, bootstrapMean(of(scores, metric), SEED)] as const);
  const segmentation = segmentationScores(scores, first, SEED);
  return {
    step,
    n: scores.length,
    means: Object.fromEntries(intervals.map(([metric, interval]) => [metric, interval.mean])) as EvalReport["means"],
    ci: Object.fromEntries(
      intervals.map(([metric, { low, high }]) => [metric, [low, high] as const]),
    ) as unknown as EvalReport["ci"],
    difference:
      first === null
        ? null
        : (Object.fromEntries(
            EVAL_METRICS.map((metric) => [metric, pairedDifference(of(scores, metric), of(first, metric), SEED)]),
          ) as unknown as EvalReport["difference"]),
    ...(segmentation === undefined ? {} : { segmentation }),
  };
}
