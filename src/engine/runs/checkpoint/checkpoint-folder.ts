/** The checkpoints of a run. A folder counts as complete once it has its marker, which is written last. */

import type { RunStore } from "../../storage/store.ts";
import { stepFromName, stepName } from "../step-name.ts";

export const MARKER = "complete.json";

export function checkpointPath(runId: string, step: number): string {
  return `${runId}/checkpoints/${stepName(step)}`;
}

/** Files that the zip of a run adds. */
const ADDED = /^((alarms|evaluations|metrics|settings)\.csv|events\.out\.tfevents\..+)$/;

/** Whether a file belongs to the run itself; false for files that its zip derives from others. */
export function isOwnFile(path: string, runId: string): boolean {
  return !ADDED.test(path.slice(runId.length + 1));
}

/**
 * The run's own files in copying order. Metrics come after all other files except checkpoints, so that they reveal an
 * interrupted copy; then checkpoints; markers last, so that a copied checkpoint counts only once everything is there.
 */
export function inCopyOrder(paths: readonly string[], runId: string): readonly string[] {
  const rank = (path: string): number => {
    if (path.endsWith(`/${MARKER}`)) return 3;
    return path.startsWith(`${runId}/checkpoints/`) ? 2 : Number(path === `${runId}/metrics.jsonl`);
  };
  return paths.filter((path) => isOwnFile(path, runId)).sort((a, b) => rank(a) - rank(b));
}

/** Steps with a complete checkpoint, ascending. */
export async function listCheckpoints(store: RunStore, runId: string): Promise<readonly number[]> {
  return [...(await scan(store, runId))].flatMap(([step, complete]) => (complete ? [step] : []));
}

/** Removes a checkpoint, its marker first, so that a partly removed folder never counts. */
export async function removeCheckpoint(store: RunStore, runId: string, step: number): Promise<void> {
  await store.remove(`${checkpointPath(runId, step)}/${MARKER}`);
  await store.remove(checkpointPath(runId, step));
}

/** Removes every checkpoint after a step, complete or not. */
export async function removeCheckpointsAfter(store: RunStore, runId: string, step: number): Promise<void> {
  for (const found of (await scan(store, runId)).keys()) {
    if (found > step) await removeCheckpoint(store, runId, found);
  }
}

/**
 * Keeps the last `keep` complete checkpoints and the best one. Removes the others, and incomplete folders older than
 * the newest complete one.
 * @param best step of the best checkpoint, if known
 * @returns the removed steps, ascending
 */
export async function pruneCheckpoints(
  store: RunStore,
  runId: string,
  keep: number,
  best: number | null = null,
): Promise<readonly number[]> {
  const found = await scan(store, runId);
  const complete = [...found].flatMap(([step, whole]) => (whole ? [step] : []));
  const kept = new Set(complete.slice(Math.max(0, complete.length - Math.max(1, keep))));
  if (best !== null) kept.add(best);
  const newest = complete.at(-1) ?? Number.NEGATIVE_INFINITY;
  const removed = [...found.keys()].filter((step) => !kept.has(step) && step <= newest);
  for (const step of removed) await removeCheckpoint(store, runId, step);
  return removed;
}

/** Step → whether it is complete, ascending; only markers are checked. */
async function scan(store: RunStore, runId: string): Promise<ReadonlyMap<number, boolean>> {
  const steps = (await store.names(`${runId}/checkpoints`))
    .flatMap((name) => stepFromName(name) ?? [])
    .sort((a, b) => a - b);
  const marked = steps.map(async (step) => {
    const size = await store.size(`${checkpointPath(runId, step)}/${MARKER}`);
    return [step, size !== null] as const;
  });
  return new Map(await Promise.all(marked));
}
