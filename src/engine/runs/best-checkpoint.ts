/**
 * Which checkpoint of a run is its best: that of the step whose evaluation has the highest mean of the sampled rewards of
 * the loops that train (loop1_sampled, loop2_sampled or both), over held-out rows. Of equal ones it is the newest. A step
 * that was not evaluated, or has no checkpoint, cannot be it.
 */
import type { LabConfig } from "../config/table.ts";
import { listCheckpoints } from "./checkpoint-folder.ts";
import { type EvalMetric, readEvaluations, type StoredEvaluation } from "./evaluations.ts";
import type { RunStore } from "./store.ts";

const METRICS: Readonly<Record<LabConfig["loops"], readonly EvalMetric[]>> = {
  both: ["loop1_sampled", "loop2_sampled"],
  "1": ["loop1_sampled"],
  "2": ["loop2_sampled"],
};

/** @param steps with a checkpoint @returns the best of them, or null when none was evaluated */
export function bestOf(
  evaluations: readonly Pick<StoredEvaluation, "report">[],
  loops: LabConfig["loops"],
  steps: readonly number[],
): number | null {
  const names = METRICS[loops];
  let best: { readonly step: number; readonly score: number } | null = null;
  for (const { report } of evaluations) {
    const { step, means } = report;
    // A mean that was no number is stored as null.
    const values = names.map((name): number | null => means[name]);
    if (!steps.includes(step) || !values.every((value) => value !== null && Number.isFinite(value))) continue;
    const score = values.reduce((sum: number, value) => sum + (value ?? 0), 0) / names.length;
    if (best === null || score > best.score || (score === best.score && step > best.step)) best = { step, score };
  }
  return best?.step ?? null;
}

/** The best checkpoint as stored. @throws LabError("bad-input") naming a line of the evaluations that is damaged */
export async function bestCheckpoint(
  store: RunStore,
  runId: string,
  loops: LabConfig["loops"],
): Promise<number | null> {
  return bestOf(await readEvaluations(store, runId), loops, await listCheckpoints(store, runId));
}
