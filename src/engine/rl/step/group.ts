/**
 * The group of a step: the rollouts of one prompt. Its loop samples and rewards it (`Group`), then it has advantages
 * (`AdvantageGroup`), then every iteration over the rollouts adds what its loss compares with (`LossGroup`). None is changed.
 */
import type { TrainingRow } from "../../data/training-row.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import type { LoopId, Rollout } from "../../runs/rollouts/records.ts";
import type { GroupAdvantages } from "../objective/advantages.ts";
import type { LossInputs } from "../objective/loss.ts";

interface ActionLabel {
  readonly id: number;
  readonly label: string;
}

/** A differentiable auxiliary loss with its weight in the loop's loss and its name in the metrics. */
export interface AuxiliaryLoss {
  readonly name: string;
  readonly weight: number;
  /** Scalar, unweighted. */
  readonly value: Tensor;
  /** Whether it compares the policy with the run's starting weights, so that it is 0 there. */
  readonly zeroAtStart?: boolean;
}

/** Log-probabilities and entropies of a group's actions under given weights. */
export interface ActionLogps {
  /** [N, T]. */
  readonly logps: Tensor;
  /** [N, T]. */
  readonly entropies: Tensor;
  /** Auxiliary losses of this group, always the same ones; computed on demand. */
  readonly auxiliary?: () => readonly AuxiliaryLoss[];
}

/** Rollouts [from, to) of a group. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

export interface Group {
  readonly loop: LoopId;
  readonly group: number;
  readonly row: TrainingRow;
  /** [N] */
  readonly rollouts: readonly Rollout[];
  /** T, the padded number of actions. */
  readonly actions: number;
  /** [N][≤ T] names of the actions. */
  readonly labels: readonly (readonly ActionLabel[])[];
  /** Token ids of the policy's prompt, including visual tokens. */
  readonly promptIds: readonly number[];
  /** Token ids of the forced answer after the prompt, if the answer is not sampled. */
  readonly answerIds?: readonly number[];
  /** [N·T] 1 where an action counts. */
  readonly mask: Float32Array;
  /** [N·T] log π of the sampling weights. */
  readonly samplingLogps: Float32Array;
  /** [N·T] log π of the run's starting weights, if they are the reference or the loop computes them anyway. */
  readonly startLogps?: Float32Array | null;
  /** Probability of each rollout if they are a whole action set, used as weight in the loss and in the mean; null for samples. */
  readonly probabilities: readonly number[] | null;
  /** Whether `logProbs` can score a subset of the rollouts at proportional cost. */
  readonly splitsRows?: boolean;
  /** False if the actions are trained only by an auxiliary loss, not by policy gradient. */
  readonly policyGradient?: boolean;
  /** Counts for the metrics of this loop, e.g. "mask/area_mean"; averaged over groups. */
  readonly metrics: Readonly<Record<string, number>>;
  /**
   * Log-probabilities [N, T] and entropies [N, T] of the same actions under other weights, from the row's features; of
   * `rows` alone when given and `splitsRows` is set.
   * Differentiable in the trainable tensors behind `weights`; padded places hold any finite value.
   */
  logProbs(weights: Weights, features: ImageFeatures, rows?: RowRange): ActionLogps;
  /** Frees the tensors that log-probabilities need. */
  dispose(): void;
}

/** A group with its advantages. */
export interface AdvantageGroup extends Group {
  /** Position among the loop's groups. */
  readonly place: number;
  readonly advantages: GroupAdvantages;
  /** [N·T] log π under the reference; null without one. */
  readonly refLogps: Float32Array | null;
}

/** Whether the policy has the weights of the reference, and of the start. */
export interface EqualWeights {
  readonly reference: boolean;
  readonly start: boolean;
}

/** A group with what its loss compares with in one update. */
export interface LossGroup extends AdvantageGroup {
  /** [N·T] denominator of the ratio; null = the weights themselves, so the ratio is exactly 1. */
  readonly oldLogps: Float32Array | null;
  /**
   * Set for a group whose advantages are all 0, else null. Losses that compare the policy with equal weights are
   * then 0 by definition; the difference of two passes over the same weights would be rounding, which Adam scales to full
   * steps.
   */
  readonly equal: EqualWeights | null;
}

/** A group before it has rewards; its rollouts lack what later phases compute. */
export type DrawnGroup = Pick<Group, "loop" | "group" | "row" | "rollouts" | "promptIds" | "answerIds">;

/** A loop's groups of one step. */
export interface LoopRollouts {
  readonly groups: readonly Group[];
  /** `groups` and the groups that dynamic sampling dropped, which may be freed; the same as `groups` if absent. */
  readonly sampled?: readonly Group[];
  /**
   * `logProbs` for several groups in one batch.
   * @param places indices in `groups`, with the features of each group's picture
   */
  logProbs(weights: Weights, places: readonly number[], features: readonly ImageFeatures[]): readonly ActionLogps[];
}

/** The advantages in the policy's loss: 0 if the actions are not trained by policy gradient. */
export function learntAdvantages({ advantages, policyGradient }: AdvantageGroup): readonly number[] {
  return policyGradient === false ? advantages.values.map(() => 0) : advantages.values;
}

// Inputs and results of a backward pass over a group.

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
type LossTensors = Omit<LossInputs, "logps" | "entropies">;

export function lossTensors(group: LossGroup): LossTensors {
  const { rollouts, actions, oldLogps, refLogps, mask, probabilities } = group;
  const shape: [number, number] = [rollouts.length, actions];
  const grid = (values: Float32Array | null): Tensor | null => (values === null ? null : tf.tensor2d(values, shape));
  return {
    oldLogps: grid(oldLogps),
    refLogps: refLogps !== null && group.equal?.reference ? "own" : grid(refLogps),
    mask: tf.tensor2d(mask, shape),
    advantages: tf.tensor1d([...learntAdvantages(group)]),
    // Σ over the action set: N rows of weight p average to Σ p L when each carries N · p.
    rowWeights: probabilities === null ? null : tf.tensor1d(probabilities.map((p) => p * rollouts.length)),
  };
}
