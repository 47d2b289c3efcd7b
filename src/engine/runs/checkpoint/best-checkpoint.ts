/**
 * The best checkpoint of a run: the one with the highest selection value, which is the mean of the score in the setting
 * bestMetric over the selection rows. If several are equal, it is the newest. A step is never chosen if it has no
 * evaluation or checkpoint, or if its value is the mean of another score than the newest evaluation's, as in a fork. No
 * reported number is computed from the selection rows.
 */
import type { LabConfig } from "../../config/table.ts";
import type { RunStore } from "../../storage/store.ts";
import { type EvalMetric, type EvalReport, readEvaluations, type Selection } from "../evaluations/evaluations.ts";
import { listCheckpoints, pruneCheckpoints } from "./checkpoint-folder.ts";

export interface BestCheckpoint {
  readonly step: number;
  /** The selection value; null for a run of an older version, which used the reported rows. */
  readonly selection: Selection | null;
}

/** Scores that older versions used: the mean of these over all held-out rows. */
const OLDER: Readonly<Partial<Record<LabConfig["loops"], readonly EvalMetric[]>>> = {
  both: ["loop1_sampled", "loop2_sampled"],
  "1": ["loop1_sampled"],
  "2": ["loop2_sampled"],
};

/**
 * @param steps with a checkpoint
 * @returns the best of them, or null if none was evaluated
 */
export function bestOf(
  evaluations: readonly { readonly report: Pick<EvalReport, "step" | "means" | "selection"> }[],
  loops: LabConfig["loops"],
  steps: readonly number[],
): BestCheckpoint | null {
  const reports = evaluations.map(({ report }) => report).filter(({ step }) => steps.includes(step));
  const older = evaluations.every(({ report }) => report.selection === undefined);
  const metric = evaluations.findLast(({ report }) => report.selection)?.report.selection?.metric;
  let best: { readonly score: number; readonly found: BestCheckpoint } | null = null;
  for (const { step, means, selection = null } of reports) {
    const score = older
      ? mean((OLDER[loops] ?? []).map((name): number | null => means[name]))
      : selection?.metric === metric
        ? (selection?.value ?? null)
        : null;
    if (score === null || !Number.isFinite(score)) continue;
    const better = best === null || score > best.score || (score === best.score && step > best.found.step);
    if (better) best = { score, found: { step, selection } };
  }
  return best?.found ?? null;
}

/** Null if a value is missing: a mean that is not finite is stored as null. */
function mean(values: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const value of values) {
    if (value === null) return null;
    sum += value;
  }
  return sum / values.length;
}

/** The best checkpoint as stored. @throws LabError("bad-input") naming a line of the evaluations that is damaged */
export async function bestCheckpoint(
  store: RunStore,
  runId: string,
  loops: LabConfig["loops"],
): Promise<BestCheckpoint | null> {
  return bestOf(await readEvaluations(store, runId), loops, await listCheckpoints(store, runId));
}

/** Keeps the last checkpoints of a run and its best one. */
export async function pruneRun(
  { store, id }: { readonly store: RunStore; readonly id: string },
  { loops, keepCheckpoints }: Pick<LabConfig, "loops" | "keepCheckpoints">,
): Promise<void> {
  const best = await bestCheckpoint(store, id, loops);
  await pruneCheckpoints(store, id, keepCheckpoints, best?.step ?? null);
}
