/** What a run has taken of its judge's budget. */
import { type Spending, totalSpending } from "../../../rewards/judge/budget.ts";
import { readEvaluations } from "../../../runs/evaluations/evaluations.ts";
import type { RunFolder } from "../../../runs/run-folder.ts";

/** Of the logged steps and evaluations of a run, without those of a fork's parent. */
export async function loggedSpending(run: RunFolder): Promise<Spending> {
  const { forkedFrom } = run.manifest();
  const isOwn = (step: number): boolean => forkedFrom === undefined || step > forkedFrom.step;
  const steps = (await run.readMetrics()).filter(({ step = 0 }) => isOwn(step));
  const evaluations = (await readEvaluations(run.store, run.id)).filter(({ report }) => isOwn(report.step));
  return totalSpending([
    ...steps.map((row) => ({ calls: row["judge/calls"] ?? 0, cost: row["judge/cost"] ?? 0 })),
    ...evaluations.flatMap(({ rows }) => rows.flatMap(({ judge }) => judge ?? [])),
  ]);
}

/** The same with what earlier resumes dropped. */
export async function runSpending(run: RunFolder): Promise<Spending> {
  const { judgeDropped } = run.manifest();
  const logged = await loggedSpending(run);
  return judgeDropped === undefined ? logged : totalSpending([logged, judgeDropped]);
}

/**
 * What is no longer logged, for the manifest; nothing if there is none.
 * @param spent `runSpending` before the log was cut
 */
export async function droppedSpending(run: RunFolder, spent: Spending): Promise<{ judgeDropped?: Spending }> {
  const logged = await loggedSpending(run);
  const judgeDropped = { calls: spent.calls - logged.calls, cost: spent.cost - logged.cost };
  return judgeDropped.calls === 0 ? {} : { judgeDropped };
}
