import { type EvalTerms, evalReport } from "../../../src/engine/eval/report.ts";
import {
  EVAL_METRICS,
  type EvalMetric,
  type RowScores,
  type StoredEvaluation,
} from "../../../src/engine/runs/evaluations/evaluations.ts";

export const TERMS: EvalTerms = { loops: [1, 2], bestMetric: "reward", maskPolicy: "field", judge: "none" };

/** A row whose IoU and METEOR scores are all `value`, and its run rewards as well. */
export function row(rowId: string, value: number, change: Partial<RowScores> = {}): RowScores {
  return {
    rowId,
    imageId: rowId,
    part: "report",
    caption: "a red chair",
    captionPrime: "",
    maskPrime: null,
    maskGreedy: { size: [1, 1], counts: "1" },
    captionGreedy: "a chair",
    groundingPixels: [1, 1],
    partnerMask: null,
    partnerIou: value,
    partnerCaption: "a chair",
    partnerMeteor: value,
    drawn: {},
    ...(Object.fromEntries(EVAL_METRICS.map((metric) => [metric, value])) as Record<EvalMetric, number>),
    rewards: { reward1_sampled: value, reward1_greedy: value, reward2_sampled: value, reward2_greedy: value },
    ...change,
  };
}

/**
 * Four report rows whose scores lie around `value`, or around what is given for a metric, and two selection rows with
 * these run rewards of both loops.
 */
export function evaluation(
  step: number,
  value: number,
  { means = {}, own = value }: { readonly means?: Partial<Record<EvalMetric, number>>; readonly own?: number } = {},
): StoredEvaluation {
  const reported = Array.from({ length: 4 }, (_, i) => {
    const scores = EVAL_METRICS.map((metric) => [metric, (means[metric] ?? value) + (i - 1.5) / 16] as const);
    return row(String(i), value, Object.fromEntries(scores) as Partial<RowScores>);
  });
  const chosen = [row("4", own, { part: "selection" }), row("5", own, { part: "selection" })];
  const rows = [...reported, ...chosen];
  return { report: evalReport(step, rows, TERMS, null), rows };
}
