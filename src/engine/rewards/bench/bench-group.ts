import type { LoopId } from "../../rl/loops/abouts.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";

/** A rollout of the bench: what rewards may know of it, and what they make of it. */
export interface BenchRollout {
  /** Unique in the bench. */
  readonly id: string;
  readonly facts: RolloutFacts;
  /** What the policy wrote, special tokens included; empty when an imported file has none. */
  readonly completion: string;
  /** Null when a needed term is missing. */
  readonly reward: number | null;
  readonly terms: readonly RewardTerm[];
  readonly advantage: number;
}

/** The rollouts of one prompt. */
export interface BenchGroup {
  /** Unique in the bench. */
  readonly key: string;
  /** Groups of one loop and batch are scored together, as those of a step are; "" for groups that were sampled. */
  readonly batch: string;
  readonly loop: LoopId;
  /** Row of the open data set, or the name that an imported file gives it. */
  readonly rowId: string;
  /** Picture of the row (RegionSummary.imageId); null when an imported file does not say it. */
  readonly imageId: string | null;
  /** Probability of each rollout when they are the whole action set; null for independent samples. */
  readonly weights: readonly number[] | null;
  readonly rollouts: readonly BenchRollout[];
  /** NaN when no rollout has a reward. */
  readonly mean: number;
  readonly std: number;
  /** No two rewards differ: every advantage is 0. */
  readonly zeroSpread: boolean;
  /** What training could change at most; absent in loop 1 and for imported rollouts. */
  readonly bounds?: GroupBounds;
}

/** Terms of two masks that were not sampled, each described by the partner. */
export interface GroupBounds {
  /** Of the policy's mask without sampling. */
  readonly greedy: readonly RewardTerm[];
  /** Of the row's own mask. */
  readonly truth: readonly RewardTerm[];
  /** Whether the two cover the same visual tokens, so that the partner cannot tell them apart. */
  readonly alike: boolean;
}

/** A group before it is scored, or one that is scored anew. */
export type UnscoredGroup = Pick<BenchGroup, "key" | "batch" | "loop" | "rowId" | "imageId" | "weights" | "bounds"> & {
  readonly rollouts: readonly Pick<BenchRollout, "id" | "facts" | "completion">[];
};
