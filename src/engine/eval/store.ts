/** Scores of held-out rows as a report against the run's first evaluation, kept with the run. */
import { type EvalReport, type RowScores, readEvaluations, writeEvaluations } from "../runs/evaluations/evaluations.ts";
import type { RunStore } from "../storage/store.ts";
import { baselineOf, type EvalTerms, evalReport } from "./report.ts";

/**
 * Reports scores against the run's earliest comparable evaluation before `step` and stores both. An evaluation of the
 * same step is replaced; those of later steps stay, since any checkpoint can be evaluated.
 */
export async function storeEvaluation(
  store: RunStore,
  runId: string,
  step: number,
  rows: readonly RowScores[],
  terms: EvalTerms,
): Promise<EvalReport> {
  const stored = await readEvaluations(store, runId);
  const before = stored.filter((other) => other.report.step < step);
  const after = stored.filter((other) => other.report.step > step);
  const report = evalReport(step, rows, terms, baselineOf(before, rows, terms.maskPolicy));
  await writeEvaluations(store, runId, [...before, { report, rows }, ...after]);
  return report;
}
