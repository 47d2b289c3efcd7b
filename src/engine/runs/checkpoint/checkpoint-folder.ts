/** The checkpoints of a run. A folder counts once it has its marker, which is written last. */

import type { RunStore } from "../../storage/store.ts";
import { stepFromName, stepName } from "../step-name.ts";

export const MARKER = "complete.json";

export function checkpointPath(runId: string, step: number): string {
  return `${runId}/checkpoints/${stepName(step)}`;
}

/** What the zip of a run adds to its files. */
const ADDED = /^((alarms|evaluations|metrics|settings)\.csv|events\.out\.tfevents\..+)$/;

/** Whether a file of a run is its own, and not one that its zip made from the others. */
export function isOwnFile(path: string, runId: string): boolean {
  return !ADDED.test(path.slice(runId.length + 1));
}

/**
 * The run's own files in the order in which they are copied: metrics after all else that is no checkpoint, so that an
 * interrupted copy shows by them; then checkpoints and their markers last, so that one of a copy counts only once all is there.
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

/** Removes a checkpoint; the marker first, so that a partly removed folder never counts. */
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

/** Step → whether it is complete, ascending; only markers are asked for. */
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
