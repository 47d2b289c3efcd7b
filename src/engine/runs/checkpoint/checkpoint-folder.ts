/** Which checkpoints a run has: a folder counts once its marker is there, and the marker is written last. */

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

/** Removes a checkpoint; the marker goes first, so that a half-removed folder never counts. */
export async function removeCheckpoint(store: RunStore, runId: string, step: number): Promise<void> {
  await store.remove(`${checkpointPath(runId, step)}/${MARKER}`);
  await store.remove(checkpointPath(runId, step));
}

/** Removes every checkpoint past a step, complete or not. */
export async function removeCheckpointsAfter(store: RunStore, runId: string, step: number): Promise<void> {
  for (const found of scan(await store.list(folderPath(runId)), runId).keys()) {
    if (found > step) await removeCheckpoint(store, runId, found);
  }
}

/**
 * Keeps the last `keep` complete checkpoints and the best one, and removes the others together with incomplete folders
 * older than the newest complete one.
 * @param best step of the best checkpoint, when one is known
 * @returns steps that were removed, ascending
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
