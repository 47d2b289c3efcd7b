/** What a backward pass is given of each group and what it returns. */
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { GroupScores } from "../objective/advantages.ts";
import type { LossInputs } from "../objective/loss.ts";
import type { Playout } from "./playout.ts";

/** What the update saw of a group. */
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
  /** One a group. */
  readonly readbacks: readonly LossReadback[];
}

/** A group as the loss sees it. */
export interface LossGroup {
  readonly playout: Playout;
  readonly advantages: readonly number[];
  /** [N·T] denominator of the ratio; null = the weights themselves, so the ratio is exactly 1. */
  readonly oldLogps: Float32Array | null;
  /** [N·T] under the reference; null without one. */
  readonly refLogps: Float32Array | null;
}

/** A group as metrics and records see it. */
export interface MeasuredGroup {
  readonly playout: Playout;
  readonly scores: GroupScores;
  /** [N·T] under the reference; null without one. */
  readonly refLogps: Float32Array | null;
  /** [N·T] what the pass divided by; where it divided by the weights themselves, what they sampled with. */
  readonly oldLogps: Float32Array;
}

/** The advantages that the policy's loss is given: none where the actions are not learnt from by policy gradient. */
export function learntAdvantages({ policyGradient }: Playout, advantages: readonly number[]): number[] {
  return policyGradient === false ? advantages.map(() => 0) : [...advantages];
}

/** The loss's constants; owned by the caller. */
export type LossTensors = Omit<LossInputs, "logps" | "entropies">;

export function lossTensors({ playout, advantages, oldLogps, refLogps }: LossGroup): LossTensors {
  const shape: [number, number] = [playout.rollouts, playout.actions];
  const grid = (values: Float32Array | null): Tensor | null => (values === null ? null : tf.tensor2d(values, shape));
  return {
    oldLogps: grid(oldLogps),
    refLogps: grid(refLogps),
    mask: tf.tensor2d(playout.mask, shape),
    advantages: tf.tensor1d(learntAdvantages(playout, advantages)),
    // Σ over the action set: N rows of weight p average to Σ p L when each carries N · p.
    rowWeights: playout.rowWeights === null ? null : tf.tensor1d(playout.rowWeights.map((p) => p * playout.rollouts)),
  };
}
