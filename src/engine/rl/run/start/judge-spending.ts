/** The part of its judge's budget that a run has used. */
import { type Spending, totalSpending } from "../../../rewards/judge/budget.ts";
import { readEvaluations } from "../../../runs/evaluations/evaluations.ts";
import type { RunFolder } from "../../../runs/run-folder.ts";

/** Spending of the logged steps and evaluations of a run, without those of a fork's parent. */
async function loggedSpending(run: RunFolder): Promise<Spending> {
  const { forkedFrom } = run.manifest();
  const isOwn = (step: number): boolean => forkedFrom === undefined || step > forkedFrom.step;
  const steps = (await run.readMetrics()).filter(({ step = 0 }) => isOwn(step));
  const evaluations = (await readEvaluations(run.store, run.id)).filter(({ report }) => isOwn(report.step));
  return totalSpending([
    ...steps.map((row) => ({ calls: row["judge/calls"] ?? 0, cost: row["judge/cost"] ?? 0 })),
    ...evaluations.flatMap(({ rows }) => rows.flatMap(({ judge }) => judge ?? [])),
  ]);
}

/** The same, plus the spending of steps that earlier resumes dropped. */
export async function runSpending(run: RunFolder): Promise<Spending> {
  const { judgeDropped } = run.manifest();
  const logged = await loggedSpending(run);
  return judgeDropped === undefined ? logged : totalSpending([logged, judgeDropped]);
}

/** Drops data of later steps from the run folder; the manifest keeps their judge costs. */
export async function dropLaterSteps(run: RunFolder, step: number): Promise<void> {
  const spent = await runSpending(run);
  await run.truncateAfter(step);
  const logged = await loggedSpending(run);
  const judgeDropped = { calls: spent.calls - logged.calls, cost: spent.cost - logged.cost };
  if (judgeDropped.calls > 0) await run.update({ judgeDropped });
}
