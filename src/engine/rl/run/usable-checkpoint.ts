/** The newest checkpoint that training can go on from; damaged ones are passed over, and it is said which. */
import { LabError, shortened } from "../../errors.ts";
import { listCheckpoints, readCheckpoint } from "../../runs/checkpoint/checkpoint.ts";
import type { CheckpointState, TensorMap } from "../../runs/checkpoint/checkpoint-state.ts";
import type { RunStore } from "../../storage/store.ts";

export interface UsableCheckpoint {
  readonly step: number;
  readonly checkpoint: CheckpointState;
  /** A sentence about newer checkpoints that cannot be used; null when this is the newest. */
  readonly passedOver: string | null;
}

/**
 * @returns null for a run without a complete checkpoint
 * @throws LabError with what is wrong with the newest one when none can be used
 */
export async function usableCheckpoint(store: RunStore, runId: string): Promise<UsableCheckpoint | null> {
  let newest: { readonly step: number; readonly error: LabError } | undefined;
  for (const step of [...(await listCheckpoints(store, runId))].reverse()) {
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
  return `The checkpoint of step ${damaged} cannot be used (${shortened(message, 180)}); the run goes on from step ${step}`;
}

/**
 * Weights, averages and both moments are there for every trained tensor, in its shape and finite.
 * @throws LabError("bad-input") naming the tensor
 */
export function requireTrainable({ step, params, ema, reference, moments }: CheckpointState): void {
  const bad = (why: string): LabError =>
    new LabError("bad-input", `The checkpoint of step ${step} ${why}; nothing was changed`);
  if (ema === null) throw bad("has no averages of its weights");
  const parts: readonly (readonly [what: string, map: TensorMap])[] = [
    ["weights", params],
    ["averages", ema],
    ["first moments", moments.m],
    ["second moments", moments.v],
    ...(reference ? [["reference weights", reference] as const] : []),
  ];
  for (const [what, map] of parts) {
    for (const [name, { shape }] of params) {
      const own = map.get(name);
      if (own === undefined) throw bad(`has no ${what} of "${name}"`);
      if (String(own.shape) !== String(shape)) throw bad(`has ${what} of "${name}" in another shape than its weights`);
      if (!own.data.every(Number.isFinite)) throw bad(`has ${what} of "${name}" that are not finite numbers`);
      if (map === moments.v && own.data.some((value) => value < 0)) throw bad(`has negative ${what} of "${name}"`);
    }
    if (map.size !== params.size) throw bad(`has ${what} of tensors that are not trained`);
  }
}
