/** Loss and gradients of sampled groups. */

import { readTogether } from "../../gpu/runtime/read-back.ts";
import { gradientsOf } from "../../gpu/runtime/tape.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet, Weights } from "../../model/weights/weights.ts";
import { policyLoss } from "../objective/loss.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import { reachedGradients } from "../optim/optimiser.ts";
import {
  type ActionLogps,
  type AuxiliaryLoss,
  type GroupGradients,
  type LossGroup,
  type LossReadback,
  lossTensors,
} from "./group.ts";

export interface LossTask {
  /** Groups of one loop. */
  readonly groups: readonly LossGroup[];
  /** Log-probabilities and entropies of their actions under given weights, in the same order. */
  readonly logProbs: (weights: Weights) => readonly ActionLogps[];
  readonly weights: Weights;
  readonly parameters: ParameterSet;
  /** Trainable tensors to differentiate, in a fixed order. */
  readonly names: readonly string[];
  readonly settings: LossSettings;
  /** Factor of this loop's loss. */
  readonly loopWeight: number;
}

/** Forward and backward pass of a few groups under one tape: the gradient of the sum of their losses. */
export async function lossGradients(task: LossTask): Promise<GroupGradients> {
  const { groups, logProbs, weights, parameters, names, settings, loopWeight } = task;
  const inputs = groups.map(lossTensors);
  const extras: (readonly AuxiliaryLoss[])[] = [];
  const kept: Tensor[] = [];
  const { value, grads } = gradientsOf(
    () => {
      const losses = logProbs(weights).map((scored, at) => {
        const own = inputs[at] as (typeof inputs)[number];
        const result = policyLoss({ ...own, logps: scored.logps, entropies: scored.entropies }, settings);
        const auxiliary = scored.auxiliary?.() ?? [];
        extras.push(auxiliary);
        // A mean over the groups of the window, like the policy's loss.
        const atStart = groups[at]?.equal?.start;
        const acting = auxiliary.filter(({ zeroAtStart = false }) => !(atStart && zeroAtStart));
        const loss = acting.reduce(
          (sum, { weight, value }) => sum.add(value.mul(weight / settings.accumulation)),
          result.loss as Tensor,
        );
        const parts = [loss, result.policy, ...auxiliary.map((extra) => extra.value)];
        kept.push(tf.keep(tf.stack(parts.map((part) => part.reshape([])))));
        kept.push(tf.keep(scored.logps.clone()), tf.keep(scored.entropies.clone()));
        return loss;
      });
      return losses
        .reduce((sum, loss) => sum.add(loss))
        .mul(loopWeight)
        .asScalar();
    },
    names.map((name) => parameters[name] as Tensor),
  );
  const constants = inputs.flatMap((own) => Object.values(own)).filter((tensor) => tensor instanceof tf.Tensor);
  const arrays = await readTogether(kept)
    .catch((thrown: unknown) => {
      // After a lost device the gradients are not used.
      tf.dispose([...grads]);
      throw thrown;
    })
    .finally(() => tf.dispose([value, ...kept, ...constants]));
  const readbacks = groups.map((_, at): LossReadback => {
    const [scalars, logps, entropies] = arrays.slice(3 * at) as [Float32Array, Float32Array, Float32Array];
    const [loss, policy, ...values] = scalars as unknown as [number, number, ...number[]];
    const names = (extras[at] ?? []).map(({ name }) => name);
    const auxiliary = Object.fromEntries(names.map((name, i) => [name, values[i] as number]));
    return { loss, policy, logps, entropies, auxiliary };
  });
  return { gradients: reachedGradients(names, grads), readbacks };
}

/** Reads back the log-probabilities of groups, [N·T] per group, and keeps none of them on the GPU. */
export async function readLogProbs(
  logProbs: () => readonly { readonly logps: Tensor }[],
): Promise<readonly Float32Array[]> {
  const logps = tf.tidy(() => logProbs().map((own) => own.logps));
  return await readTogether(logps).finally(() => tf.dispose(logps));
}
