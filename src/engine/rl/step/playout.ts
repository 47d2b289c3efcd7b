/**
 * One played group of a loop: what the policy did, what the partner answered, what it earned, and how to recompute the
 * log-probabilities of the same actions under other weights.
 */

import type { TrainingRow } from "../../data/training-row.ts";
import type { Tensor } from "../../gpu/tf.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { LoopId, RolloutRecord } from "../../runs/records.ts";

/** Fields of a rollout that are known before the update. */
export type RolloutDraft = Omit<RolloutRecord, "advantage" | "actions" | "step" | "loop" | "group" | "index" | "id">;

export interface ActionLabel {
  readonly id: number;
  readonly label: string;
}

/** A differentiable loss beside the policy's, with its weight in the loop's loss and its name in the metrics. */
export interface AuxiliaryLoss {
  readonly name: string;
  readonly weight: number;
  /** Scalar, unweighted. */
  readonly value: Tensor;
}

/** What other weights make of a playout's actions. */
export interface ActionScores {
  /** [N, T]. */
  readonly logps: Tensor;
  /** [N, T]. */
  readonly entropies: Tensor;
  /** Losses of this group beside the policy's, always the same ones; computed when asked for. */
  readonly auxiliary?: () => readonly AuxiliaryLoss[];
}

/** Rollouts [from, to) of a playout. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

export interface Playout {
  readonly loop: LoopId;
  readonly group: number;
  readonly row: TrainingRow;
  /** N. */
  readonly rollouts: number;
  /** T, the padded number of actions. */
  readonly actions: number;
  /** [N][≤ T] what each action was. */
  readonly labels: readonly (readonly ActionLabel[])[];
  /** Token ids of the policy's prompt, visual tokens included. */
  readonly promptIds: readonly number[];
  /** Token ids of the forced answer after it, where the answer is not sampled. */
  readonly answerIds?: readonly number[];
  /** [N·T] 1 where an action counts. */
  readonly mask: Float32Array;
  /** [N·T] log π of the sampling weights. */
  readonly samplingLogps: Float32Array;
  /** Weight of each rollout in the loss and in the group's mean; null means all alike. */
  readonly rowWeights: readonly number[] | null;
  readonly rewards: readonly (number | null)[];
  readonly terms: readonly (readonly RewardTerm[])[];
  readonly drafts: readonly RolloutDraft[];
  /**
   * Log-probabilities [N, T] and entropies [N, T] of the same actions under other weights, from the row's features; of
   * `rows` alone when given and `splitsRows` is set.
   * Differentiable in the trainable tensors behind `weights`; padded places hold any finite value.
   */
  logProbs(weights: Weights, features: ImageFeatures, rows?: RowRange): ActionScores;
  /** [N·T] log π of the weights the run began with, where the loop has asked them anyway. */
  readonly startLogps?: Float32Array | null;
  /** Whether `logProbs` can score some of the rollouts for the cost of these alone. */
  readonly splitsRows?: boolean;
  /** False where the actions are not learnt from by policy gradient, only by an auxiliary loss. */
  readonly policyGradient?: boolean;
  /** Frees what the scores need. */
  dispose(): void;
  /** Counts for the metrics of this loop, e.g. "mask/area_mean"; averaged over groups. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A loop's groups of one step. */
export interface LoopRollouts {
  readonly playouts: readonly Playout[];
  /**
   * What `logProbs` gives for several groups, in one batch.
   * @param groups places in `playouts`, with the features of each one's picture
   */
  score(weights: Weights, groups: readonly number[], features: readonly ImageFeatures[]): readonly ActionScores[];
}
