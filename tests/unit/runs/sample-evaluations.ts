import { evalReport } from "../../../src/engine/eval/report.ts";
import {
  EVAL_METRICS,
  type EvalMetric,
  type RowScores,
  type StoredEvaluation,
} from "../../../src/engine/runs/evaluations.ts";

/** Four rows whose scores lie around `value`, or around what is given for a metric. */
export function evaluation(
  step: number,
  value: number,
  means: Partial<Record<EvalMetric, number>> = {},
): StoredEvaluation {
  const rows = Array.from({ length: 4 }, (_, i): RowScores => {
    const scores = EVAL_METRICS.map((metric) => [metric, (means[metric] ?? value) + (i - 1.5) / 16] as const);
    return {
      rowId: String(i),
      caption: "a red chair",
      captionPrime: "",
      maskPrime: null,
      maskGreedy: { size: [1, 1], counts: "1" },
      captionGreedy: "a chair",
      ...(Object.fromEntries(scores) as Record<EvalMetric, number>),
    };
  });
  return { report: evalReport(step, rows, null), rows };
}
