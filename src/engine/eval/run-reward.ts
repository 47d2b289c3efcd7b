/** The run's reward on held-out rows: composed by its reward plan, as in training. */
import type { LabConfig } from "../config/table.ts";
import { actingWeights, type RewardPlan, rewardPlan, type TermWeights } from "../rewards/composer/plan.ts";
import type { RewardScorer, RolloutFacts } from "../rewards/types.ts";
import type { JudgeUse, RewardMetric } from "../runs/evaluations.ts";

/** The settings that say how held-out rows are rewarded. */
export interface RunReward {
  readonly plan: RewardPlan;
  readonly judge: JudgeUse;
  readonly loops: readonly (1 | 2)[];
}

/**
 * The plan of a run for held-out rows. A missing verdict makes the run wait where the settings say so and is a missing
 * reward otherwise: METEOR in its place would be another score.
 */
export function runReward(config: LabConfig): RunReward {
  const plan = rewardPlan(config);
  const loops = config.loops === "both" ? ([1, 2] as const) : [config.loops === "1" ? (1 as const) : (2 as const)];
  const judged = config.judge !== "off" && loops.some((loop) => plan.weights[loop].judge !== 0);
  const leftOut = judged && !config.evalJudge;
  const weights = (own: TermWeights): TermWeights => (leftOut ? actingWeights(own, false) : own);
  return {
    plan: {
      ...plan,
      weights: { 1: weights(plan.weights[1]), 2: weights(plan.weights[2]) },
      missingVerdict: plan.missingVerdict === "pause" ? "pause" : "drop",
    },
    judge: leftOut ? "left-out" : judged ? "asked" : "none",
    loops,
  };
}

/** What a loop's rollouts of one row are: the greedy one, and the sampled ones with their probabilities. */
export interface LoopFacts {
  readonly greedy: RolloutFacts;
  readonly sampled: readonly RolloutFacts[];
  /** Probability of each sampled one where they are all actions; null for independent samples. */
  readonly weights: readonly number[] | null;
}

/**
 * Rewards of one row. The sampled rollouts are one group, as in training; the greedy one is a group of its own.
 * @throws LabError("held") when a reward cannot be given and the run has to wait
 */
export async function rowRewards(
  scorer: RewardScorer,
  { plan, loops }: RunReward,
  facts: Readonly<Record<1 | 2, LoopFacts>>,
  signal: AbortSignal,
): Promise<Readonly<Record<RewardMetric, number | null>>> {
  const rewards: Record<RewardMetric, number | null> = {
    reward1_sampled: null,
    reward1_greedy: null,
    reward2_sampled: null,
    reward2_greedy: null,
  };
  for (const loop of loops) {
    const { greedy, sampled, weights } = facts[loop];
    const scored = await scorer.scoreGroup(sampled, plan, signal);
    const [own] = await scorer.scoreGroup([greedy], plan, signal);
    rewards[`reward${loop}_greedy`] = own?.reward ?? null;
    rewards[`reward${loop}_sampled`] = weightedMean(
      scored.map(({ reward }) => reward),
      weights,
    );
  }
  return rewards;
}

/** Mean of the values there are, by their weights; null where there is none. @param weights null counts all alike */
export function weightedMean(values: readonly (number | null)[], weights: readonly number[] | null): number | null {
  let [sum, total] = [0, 0];
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const weight = weights === null ? 1 : (weights[at] as number);
    sum += weight * value;
    total += weight;
  }
  return total === 0 ? null : sum / total;
}
