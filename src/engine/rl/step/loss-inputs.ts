/** Inputs and results of a backward pass over a group. */
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LossInputs } from "../objective/loss.ts";
import { learntAdvantages, type PassGroup } from "./group.ts";

/** Values of a group in the update. */
export interface LossReadback {
  readonly loss: number;
  readonly policy: number;
  /** [N·T]. */
  readonly logps: Float32Array;
  readonly entropies: Float32Array;
  /** Unweighted auxiliary losses by name. */
  readonly auxiliary: Readonly<Record<string, number>>;
}

export interface GroupGradients {
  /** d(weight · loss)/d parameter; tensors the loss does not reach are absent. Owned by the caller. */
  readonly gradients: Readonly<Record<string, Tensor>>;
  /** One per group. */
  readonly readbacks: readonly LossReadback[];
}

/** The loss's constants; owned by the caller. */
export type LossTensors = Omit<LossInputs, "logps" | "entropies">;

export function lossTensors(group: PassGroup): LossTensors {
  const { rollouts, actions, oldLogps, refLogps, mask, weights } = group;
  const shape: [number, number] = [rollouts.length, actions];
  const grid = (values: Float32Array | null): Tensor | null => (values === null ? null : tf.tensor2d(values, shape));
  return {
    oldLogps: grid(oldLogps),
    refLogps: refLogps !== null && group.still?.reference ? "own" : grid(refLogps),
    mask: tf.tensor2d(mask, shape),
    advantages: tf.tensor1d([...learntAdvantages(group)]),
    // Σ over the action set: N rows of weight p average to Σ p L when each carries N · p.
    rowWeights: weights === null ? null : tf.tensor1d(weights.map((p) => p * rollouts.length)),
  };
}
