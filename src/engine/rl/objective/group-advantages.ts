/** Advantages of the groups of one loop, as a configuration says: in a step, and on the reward bench. */
import type { LabConfig } from "../../config/table.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { Playout } from "../step/playout.ts";
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

/** Rewards of a group with the parts that have a weight. */
export function rewardGroup(
  rewards: readonly Reward[],
  terms: readonly (readonly RewardTerm[])[],
  probabilities: readonly number[] | null,
): RewardGroup {
  const names = new Map(
    terms.flatMap((own) => own.filter(({ weight }) => weight !== 0).map(({ name, weight }) => [name, weight] as const)),
  );
  const parts = [...names].map(([name, weight]) => {
    const termValue = (own: readonly RewardTerm[]): Reward => own.find((term) => term.name === name)?.value ?? null;
    return { weight, values: terms.map((own, n) => (rewards[n] === null ? null : termValue(own))) };
  });
  return { rewards, probabilities, parts };
}

/**
 * @param playouts all groups of one loop in a step
 * @param step address of the permutations, where the rewards are shuffled as a control
 */
export function scoreGroups(playouts: readonly Playout[], config: LabConfig, step: number): GroupScores[] {
  const groups = playouts.map((playout) => {
    const order = config.shuffleRewards ? shuffledOrder(playout, config.seed, step) : playout.rewards.map((_, n) => n);
    const rewards = order.map((n) => playout.rewards[n] ?? null);
    const terms = order.map((n) => playout.terms[n] ?? []);
    return rewardGroup(rewards, terms, playout.rowWeights);
  });
  return groupScores(groups, advantageSettings(config));
}

/** The group's rows in another order (Fisher and Yates): same mean and spread, nothing to learn from. */
function shuffledOrder({ rewards, loop, group }: Playout, seed: number, step: number): number[] {
  const order = rewards.map((_, n) => n);
  for (let last = order.length - 1; last > 0; last--) {
    const draw = uniform({ seed, step, loop, row: group, rollout: last, position: 0, stream: STREAM.shuffle });
    const other = Math.floor(draw * (last + 1));
    [order[last], order[other]] = [order[other] as number, order[last] as number];
  }
  return order;
}
