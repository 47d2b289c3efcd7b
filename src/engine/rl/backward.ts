/** Loss and gradients of one played group: the only place where the tape runs. */
import { type Tensor, tf } from "../gpu/tf.ts";
import type { ParameterSet, Weights } from "../model/weights.ts";
import type { ImageFeatures } from "../policy/features.ts";
import { policyLoss } from "./loss.ts";
import type { LossSettings } from "./loss-types.ts";
import type { Playout } from "./playout.ts";

/** What the update saw, read back once per group. */
export interface LossReadback {
  readonly loss: number;
  readonly policy: number;
  readonly klPenalty: number;
  /** [N·T]. */
  readonly logps: Float32Array;
  readonly entropies: Float32Array;
  /** Unweighted auxiliary losses by name. */
  readonly auxiliary: Readonly<Record<string, number>>;
}

export interface GroupGradients {
  /** d(weight · loss)/d parameter; tensors the loss does not reach are absent. Owned by the caller. */
  readonly gradients: Readonly<Record<string, Tensor>>;
  readonly readback: LossReadback;
}

/**
 * Forward and backward of one group.
 * @param names trainable tensors to differentiate, in a fixed order
 * @param oldLogps [N·T] denominator of the ratio; null = the weights themselves, so the ratio is exactly 1
 * @param loopWeight factor of this loop's loss
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
): Promise<GroupGradients> {
  const shape: [number, number] = [playout.rollouts, playout.actions];
  const grid = (values: Float32Array | null): Tensor | null => (values === null ? null : tf.tensor2d(values, shape));
  const inputs = {
    oldLogps: grid(oldLogps),
    refLogps: grid(refLogps),
    mask: tf.tensor2d(playout.mask, shape),
    advantages: tf.tensor1d(playout.policyGradient === false ? advantages.map(() => 0) : [...advantages]),
    // Σ over the action set: N rows of weight p average to Σ p L when each carries N · p.
    rowWeights: playout.rowWeights === null ? null : tf.tensor1d(playout.rowWeights.map((p) => p * playout.rollouts)),
  };
  const extras = playout.auxiliary ?? [];
  const kept: Tensor[] = [];
  const { value, grads } = tf.engine().gradients(
    () => {
      const scored = playout.logProbs(weights, features);
      const { rowWeights, ...rest } = inputs;
      const result = policyLoss(
        { ...rest, logps: scored.logps, entropies: scored.entropies, ...(rowWeights === null ? {} : { rowWeights }) },
        settings,
      );
      const values = (extras.length === 0 ? undefined : scored.auxiliary?.()) ?? [];
      const loss = extras.reduce(
        (sum, { weight }, i) => sum.add((values[i] as Tensor).mul(weight)),
        result.loss as Tensor,
      );
      const parts = [loss, result.policy, result.klPenalty, ...values];
      kept.push(tf.keep(tf.stack(parts.map((part) => part.reshape([])))));
      kept.push(tf.keep(scored.logps.clone()), tf.keep(scored.entropies.clone()));
      return loss.mul(loopWeight).asScalar();
    },
    names.map((name) => parameters[name] as Tensor),
    undefined,
    true,
  );
  const [scalars, logps, entropies] = (await Promise.all(kept.map((tensor) => tensor.data()))) as Float32Array[];
  tf.dispose([value, ...kept, ...Object.values(inputs).filter((tensor) => tensor !== null)]);
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
  const logps = tf.tidy(() => playout.logProbs(weights, features).logps);
  const values = (await logps.data()) as Float32Array;
  logps.dispose();
  return values;
}

/** Adds `more` into `sum`; consumes both. */
export function addGradients(
  sum: Readonly<Record<string, Tensor>>,
  more: Readonly<Record<string, Tensor>>,
): Record<string, Tensor> {
  const total: Record<string, Tensor> = { ...sum };
  for (const [name, gradient] of Object.entries(more)) {
    const before = total[name];
    if (before === undefined) {
      total[name] = gradient;
      continue;
    }
    total[name] = tf.tidy(() => before.add(gradient));
    tf.dispose([before, gradient]);
  }
  return total;
}
