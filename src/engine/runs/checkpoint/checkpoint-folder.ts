/** The checkpoints of a run. A folder counts once it has its marker, which is written last. */

import type { RunStore, StoredFile } from "../../storage/store.ts";
import { stepFromName, stepName } from "../step-name.ts";

export const MARKER = "complete.json";

export function checkpointPath(runId: string, step: number): string {
  return `${runId}/checkpoints/${stepName(step)}`;
}

/** Steps with a complete checkpoint, ascending. */
export async function listCheckpoints(store: RunStore, runId: string): Promise<readonly number[]> {
  return completeCheckpoints(await store.list(folderPath(runId)), runId);
}

/** Steps with a complete checkpoint among the files of a run, ascending. */
export function completeCheckpoints(files: readonly StoredFile[], runId: string): readonly number[] {
  return [...scan(files, runId)].flatMap(([step, complete]) => (complete ? [step] : []));
}

/** Removes a checkpoint; the marker first, so that a partly removed folder never counts. */
export async function removeCheckpoint(store: RunStore, runId: string, step: number): Promise<void> {
  await store.remove(`${checkpointPath(runId, step)}/${MARKER}`);
  await store.remove(checkpointPath(runId, step));
}

/** Removes every checkpoint after a step, complete or not. */
export async function removeCheckpointsAfter(store: RunStore, runId: string, step: number): Promise<void> {
  for (const found of scan(await store.list(folderPath(runId)), runId).keys()) {
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
  const found = scan(await store.list(folderPath(runId)), runId);
  const complete = [...found].flatMap(([step, whole]) => (whole ? [step] : []));
  const kept = new Set(complete.slice(Math.max(0, complete.length - Math.max(1, keep))));
  if (best !== null) kept.add(best);
  const newest = complete.at(-1) ?? Number.NEGATIVE_INFINITY;
  const removed = [...found.keys()].filter((step) => !kept.has(step) && step <= newest);
  for (const step of removed) await removeCheckpoint(store, runId, step);
  return removed;
}

/** Step → whether it is complete, ascending. */
function scan(files: readonly StoredFile[], runId: string): ReadonlyMap<number, boolean> {
  const prefix = `${folderPath(runId)}/`;
  const steps = new Map<number, boolean>();
  for (const { path } of files) {
    if (!path.startsWith(prefix)) continue;
    const [folder, name] = path.slice(prefix.length).split("/");
    const step = stepFromName(folder ?? "");
    if (step !== null) steps.set(step, steps.get(step) === true || name === MARKER);
  }
  return new Map([...steps].sort(([a], [b]) => a - b));
}

function folderPath(runId: string): string {
  return `${runId}/checkpoints`;
}
