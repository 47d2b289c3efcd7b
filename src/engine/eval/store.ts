/** Scores of held-out rows as a report against the run's first evaluation, kept with the run. */
import { type EvalReport, type RowScores, readEvaluations, writeEvaluations } from "../runs/evaluations.ts";
import type { RunStore } from "../storage/store.ts";
import { baselineOf, type EvalTerms, evalReport } from "./report.ts";

/**
 * Reports scores against the run's earliest comparable evaluation and stores both. Evaluations at or past `step` are
 * replaced: a resumed run does not have two of one step.
 */
export async function storeEvaluation(
  store: RunStore,
  runId: string,
  step: number,
  rows: readonly RowScores[],
  terms: EvalTerms,
): Promise<EvalReport> {
  const before = (await readEvaluations(store, runId)).filter((stored) => stored.report.step < step);
  const report = evalReport(step, rows, terms, baselineOf(before, rows, terms.maskPolicy));
  await writeEvaluations(store, runId, [...before, { report, rows }]);
  return report;
}
