/**
 * The best checkpoint of a run: the one with the highest selection value, which is the mean of the score in the setting
 * bestMetric over the selection rows. If several are equal, it is the newest. A step is never chosen if it has no
 * evaluation or checkpoint, or if its value is the mean of another score than the newest evaluation's, as in a fork. No
 * reported number is computed from the selection rows.
 */
import type { LabConfig } from "../../config/table.ts";
import type { RunStore } from "../../storage/store.ts";
import { type EvalReport, readEvaluations, type Selection } from "../evaluations/evaluations.ts";
import { listCheckpoints, pruneCheckpoints } from "./checkpoint-folder.ts";

export interface BestCheckpoint {
  readonly step: number;
  readonly selection: Selection;
}

/**
 * @param steps with a checkpoint
 * @returns the best of them, or null if none was evaluated
 */
export function bestOf(
  evaluations: readonly { readonly report: Pick<EvalReport, "step" | "selection"> }[],
  steps: readonly number[],
): BestCheckpoint | null {
  const reports = evaluations.map(({ report }) => report).filter(({ step }) => steps.includes(step));
  const metric = evaluations.findLast(({ report }) => report.selection)?.report.selection?.metric;
  let best: { readonly score: number; readonly found: BestCheckpoint } | null = null;
  for (const { step, selection } of reports) {
    if (selection === null || selection.metric !== metric) continue;
    const score = selection.value;
    if (score === null || !Number.isFinite(score)) continue;
    const better = best === null || score > best.score || (score === best.score && step > best.found.step);
    if (better) best = { score, found: { step, selection } };
  }
  return best?.found ?? null;
}

/** The best checkpoint as stored. @throws LabError("bad-input") naming a line of the evaluations that is damaged */
export async function bestCheckpoint(store: RunStore, runId: string): Promise<BestCheckpoint | null> {
  return bestOf(await readEvaluations(store, runId), await listCheckpoints(store, runId));
}

/** Keeps the last checkpoints of a run and its best one. */
export async function pruneRun(
  { store, id }: { readonly store: RunStore; readonly id: string },
  { saveTotalLimit }: Pick<LabConfig, "saveTotalLimit">,
): Promise<void> {
  const best = await bestCheckpoint(store, id);
  await pruneCheckpoints(store, id, saveTotalLimit, best?.step ?? null);
}
