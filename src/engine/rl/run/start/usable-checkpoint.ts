/** The newest usable checkpoint; damaged ones are skipped and named. */
import { badInput, LabError, quote, shortened } from "../../../errors.ts";
import { listCheckpoints, readCheckpoint } from "../../../runs/checkpoint/checkpoint.ts";
import type { CheckpointState } from "../../../runs/checkpoint/checkpoint-state.ts";
import type { RunStore } from "../../../storage/store.ts";

export interface UsableCheckpoint {
  readonly step: number;
  readonly checkpoint: CheckpointState;
  /** A sentence about newer, damaged checkpoints; null if this is the newest. */
  readonly passedOver: string | null;
}

/**
 * @param before only checkpoints of this step or earlier
 * @returns null for a run without a complete checkpoint
 * @throws LabError with the problem of the newest one if none can be used
 */
export async function usableCheckpoint(
  store: RunStore,
  runId: string,
  before = Number.POSITIVE_INFINITY,
): Promise<UsableCheckpoint | null> {
  let newest: { readonly step: number; readonly error: LabError } | undefined;
  for (const step of [...(await listCheckpoints(store, runId))].filter((at) => at <= before).reverse()) {
    try {
      const checkpoint = await readCheckpoint(store, runId, step);
      requireTrainable(checkpoint);
      return { step, checkpoint, passedOver: newest === undefined ? null : sentence(newest.step, newest.error, step) };
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      newest ??= { step, error: thrown };
    }
  }
  if (newest !== undefined) throw newest.error;
  return null;
}

function sentence(damaged: number, { message }: LabError, step: number): string {
  return `The checkpoint of step ${damaged} cannot be used (${shortened(message, 180)}); the run continues from step ${step}`;
}

/**
 * Checks the parts of a checkpoint that training needs: averages and moments of every trained tensor, and non-negative
 * second moments.
 * @throws LabError("bad-input") naming what is missing
 */
export function requireTrainable({ step, params, ema, moments }: CheckpointState): void {
  const bad = (why: string): LabError => badInput(`The checkpoint of step ${step} has ${why}; nothing was changed`);
  if (ema === null) throw bad("no averages of its weights");
  if (moments.m.size !== params.size || moments.v.size !== params.size) throw bad("no moments of its weights");
  for (const [name, { data }] of moments.v) {
    if (data.some((value) => value < 0)) throw bad(`negative second moments of ${quote(name)}`);
  }
}
