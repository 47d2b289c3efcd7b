/** Loss and gradients of one played group. */

import { readTogether } from "../gpu/read-back.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { ParameterSet, Weights } from "../model/weights.ts";
import type { ImageFeatures } from "../policy/features.ts";
import { type GroupGradients, lossTensors } from "./group-gradients.ts";
import { policyLoss } from "./loss.ts";
import type { LossSettings } from "./loss-types.ts";
import { microGradients } from "./micro-batch.ts";
import type { AuxiliaryLoss, Playout } from "./playout.ts";

/**
 * Forward and backward of one group.
 * @param names trainable tensors to differentiate, in a fixed order
 * @param oldLogps [N·T] denominator of the ratio; null = the weights themselves, so the ratio is exactly 1
 * @param loopWeight factor of this loop's loss
 * @param microRows rollouts differentiated at once; 0 for all
 */
export async function groupGradients(
  playout: Playout,
  weights: Weights,
  parameters: ParameterSet,
  names: readonly string[],
  features: ImageFeatures,
  advantages: readonly number[],
  oldLogps: Float32Array | null,
  refLogps: Float32Array | null,
  settings: LossSettings,
  loopWeight: number,
  microRows = 0,
): Promise<GroupGradients> {
  const inputs = lossTensors(playout, advantages, oldLogps, refLogps);
  if (microRows > 0 && microRows < playout.rollouts && playout.splitsRows === true) {
    return await microGradients(
      { playout, weights, parameters, names, features, settings, loopWeight },
      inputs,
      microRows,
    );
  }
  let extras: readonly AuxiliaryLoss[] = [];
  const kept: Tensor[] = [];
  const { value, grads } = tf.engine().gradients(
    () => {
      const scored = playout.logProbs(weights, features);
      const result = policyLoss({ ...inputs, logps: scored.logps, entropies: scored.entropies }, settings);
      extras = scored.auxiliary?.() ?? [];
      // A mean over the groups of the step, as the policy's loss is.
      const loss = extras.reduce(
        (sum, { weight, value }) => sum.add(value.mul(weight / settings.accumulation)),
        result.loss as Tensor,
      );
      const parts = [loss, result.policy, result.klPenalty, ...extras.map((extra) => extra.value)];
      kept.push(tf.keep(tf.stack(parts.map((part) => part.reshape([])))));
      kept.push(tf.keep(scored.logps.clone()), tf.keep(scored.entropies.clone()));
      return loss.mul(loopWeight).asScalar();
    },
    names.map((name) => parameters[name] as Tensor),
    undefined,
    true,
  );
  const used = [value, ...kept, ...Object.values(inputs).filter((tensor) => tensor !== null)];
  const [scalars, logps, entropies] = await readTogether(kept)
    .catch((thrown: unknown) => {
      // A lost device: nobody will take the gradients.
      tf.dispose([...grads]);
      throw thrown;
    })
    .finally(() => tf.dispose(used));
  const gradients: Record<string, Tensor> = {};
  names.forEach((name, i) => {
    // Not reached by this loss: the tape gives no tensor.
    const gradient = grads[i] as Tensor | null | undefined;
    if (gradient !== null && gradient !== undefined) gradients[name] = gradient;
  });
  const [loss = Number.NaN, policy = Number.NaN, klPenalty = Number.NaN, ...values] = Array.from(scalars ?? []);
  return {
    gradients,
    readback: {
      loss,
      policy,
      klPenalty,
      logps: logps as Float32Array,
      entropies: entropies as Float32Array,
      auxiliary: Object.fromEntries(extras.map(({ name }, i) => [name, values[i] as number])),
    },
  };
}

/** Log-probabilities of the same actions without a tape, [N·T]; for reference and stored denominators. */
export async function logProbsOnly(playout: Playout, weights: Weights, features: ImageFeatures): Promise<Float32Array> {
  return await readLogProbs(() => playout.logProbs(weights, features));
}

/** Reads what `score` computes without keeping anything of it on the GPU, [N·T]. */
export async function readLogProbs(score: () => { readonly logps: Tensor }): Promise<Float32Array> {
  const logps = tf.tidy(() => score().logps);
  return (await logps.data().finally(() => logps.dispose())) as Float32Array;
}
