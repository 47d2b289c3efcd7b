/** Evaluations of a run: `eval.jsonl`, one line each with its report and the rows it was computed from. */
import type { RunStore } from "../runs/store.ts";
import type { RowScores } from "./held-out.ts";
import { type EvalReport, evalReport } from "./report.ts";

interface StoredEvaluation {
  readonly report: EvalReport;
  readonly rows: readonly RowScores[];
}

const pathOf = (runId: string): string => `${runId}/eval.jsonl`;

/** Evaluations so far, oldest first; empty when there are none. */
export async function readEvaluations(store: RunStore, runId: string): Promise<readonly StoredEvaluation[]> {
  if ((await store.size(pathOf(runId))) === null) return [];
  const lines = (await store.readText(pathOf(runId))).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as StoredEvaluation);
}

/**
 * Reports scores against the run's first evaluation and stores both. Evaluations at or past `step` are replaced: a
 * resumed run does not have two of one step.
 */
export async function storeEvaluation(
  store: RunStore,
  runId: string,
  step: number,
  rows: readonly RowScores[],
): Promise<EvalReport> {
  const before = (await readEvaluations(store, runId)).filter((stored) => stored.report.step < step);
  const report = evalReport(step, rows, before[0]?.rows ?? null);
  const lines = [...before, { report, rows }].map((stored) => JSON.stringify(stored));
  await store.write(pathOf(runId), `${lines.join("\n")}\n`);
  return report;
}
