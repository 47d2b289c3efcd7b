/** Advantages of the groups of one loop, as a configuration says: in a step, and on the reward bench. */
import type { LabConfig } from "../../config/table.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { LoopId } from "../../runs/records.ts";
import { type AdvantageSettings, type GroupScores, groupScores, type Reward, type RewardGroup } from "./advantages.ts";

/** Settings that decide about advantages. */
export type AdvantageConfig = Pick<
  LabConfig,
  "scaleRewards" | "advantageEps" | "advantageBaseline" | "rewardAggregation"
>;

export function advantageSettings(config: AdvantageConfig): AdvantageSettings {
  return {
    scale: config.scaleRewards,
    eps: config.advantageEps,
    baseline: config.advantageBaseline,
    aggregation: config.rewardAggregation,
  };
}

/** Whether a group's advantages depend on the other groups of its batch. */
export function couplesGroups({ scaleRewards, rewardAggregation }: AdvantageConfig): boolean {
  return scaleRewards === "batch" || rewardAggregation === "normalize_then_sum";
}

/** A group whose rollouts have rewards: of a step, or of the reward bench. */
export interface RewardedGroup {
  /** [N] */
  readonly rollouts: readonly { readonly reward: Reward; readonly terms: readonly RewardTerm[] }[];
  /** [N] probabilities of a whole action set; null for independent samples. */
  readonly weights: readonly number[] | null;
}

/** Rewards of a group with the parts that have a weight. */
export function rewardGroup({ rollouts, weights }: RewardedGroup): RewardGroup {
  const weighted = rollouts.flatMap(({ terms }) => terms.filter(({ weight }) => weight !== 0));
  const parts = [...new Map(weighted.map(({ name, weight }) => [name, weight]))].map(([name, weight]) => {
    const values = rollouts.map(({ reward, terms }): Reward => {
      return reward === null ? null : (terms.find((term) => term.name === name)?.value ?? null);
    });
    return { weight, values };
  });
  return { rewards: rollouts.map(({ reward }) => reward), probabilities: weights, parts };
}

/**
 * Advantages of training and of the reward bench.
 * @param groups all groups of one loop in a step
 */
export function scoreGroups(groups: readonly RewardedGroup[], config: AdvantageConfig): GroupScores[] {
  return groupScores(groups.map(rewardGroup), advantageSettings(config));
}

/**
 * The group with its rewards in another order (Fisher and Yates): same mean and spread, nothing to learn from.
 * @param step address of the permutation
 */
export function shuffledRewards(
  { rollouts, weights, loop, group }: RewardedGroup & { readonly loop: LoopId; readonly group: number },
  seed: number,
  step: number,
): RewardedGroup {
  const shuffled = [...rollouts];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const draw = uniform({ seed, step, loop, row: group, rollout: last, position: 0, stream: STREAM.shuffle });
    const other = Math.floor(draw * (last + 1));
    type One = RewardedGroup["rollouts"][number];
    [shuffled[last], shuffled[other]] = [shuffled[other] as One, shuffled[last] as One];
  }
  return { rollouts: shuffled, weights };
}
