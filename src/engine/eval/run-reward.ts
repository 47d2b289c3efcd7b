/** The run's reward on held-out rows: composed by its reward plan, as in training. */
import { activeLoops } from "../config/derived.ts";
import type { LabConfig } from "../config/table.ts";
import { type RewardPlan, rewardPlan, withoutJudge } from "../rewards/composer/plan.ts";
import { type Spending, totalSpending } from "../rewards/judge/budget.ts";
import type { RolloutFacts } from "../rewards/term.ts";
import type { RewardScorer, ScoredRollout } from "../rewards/types.ts";
import { LOOP_IDS, type LoopId } from "../rl/loops/abouts.ts";
import type { JudgeUse, RewardMetric } from "../runs/evaluations/evaluations.ts";

/** Settings of the reward of held-out rows. */
export interface RunReward {
  readonly plan: RewardPlan;
  readonly judge: JudgeUse;
  readonly loops: readonly LoopId[];
}

/**
 * The reward plan for held-out rows. A missing verdict pauses the run if the settings say so; otherwise the reward is
 * missing, because METEOR in its place would be another score.
 */
export function runReward(config: LabConfig): RunReward {
  const plan = rewardPlan(config);
  const loops = activeLoops(config);
  const judged =
    config.judge !== "off" && loops.some((loop) => plan.weights[loop].judge !== 0 || plan.weights[loop].utility !== 0);
  const leftOut = judged && !config.evalJudge;
  return {
    plan: {
      ...(leftOut ? withoutJudge(plan) : plan),
      missingVerdict: plan.missingVerdict === "pause" ? "pause" : "drop",
    },
    judge: leftOut ? "left-out" : judged ? "asked" : "none",
    loops,
  };
}

/** A loop's rollouts of one row: the greedy one, and the sampled ones with their probabilities. */
export interface LoopFacts {
  readonly greedy: RolloutFacts;
  readonly sampled: readonly RolloutFacts[];
  /** Probability of each sampled rollout if they are all possible actions; null for independent samples. */
  readonly weights: readonly number[] | null;
}

export interface RowRewards {
  readonly rewards: Readonly<Partial<Record<RewardMetric, number | null>>>;
  /** By loop, what each weighted term adds to the reward of the sampled rollouts. */
  readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Absent if no request was sent. */
  readonly judge?: Spending;
}

/**
 * Rewards of one row, and their cost to the judge's budget. The sampled rollouts are one group, as in training; the
 * greedy one is a separate group.
 * @param facts by loop; a loop that cannot sample the row has none
 * @throws LabError("held") when a reward is not available and the run must wait
 */
export async function rowRewards(
  scorer: RewardScorer,
  { plan, loops }: RunReward,
  facts: Readonly<Partial<Record<LoopId, LoopFacts>>>,
  signal: AbortSignal,
): Promise<RowRewards> {
  const rewards: Partial<Record<RewardMetric, number | null>> = {};
  const parts: Record<string, Readonly<Record<string, number>>> = {};
  const all: ScoredRollout[] = [];
  for (const loop of LOOP_IDS) {
    const own = facts[loop];
    if (own === undefined) continue;
    const trains = loops.includes(loop);
    const sampled = trains ? await scorer.scoreGroup(own.sampled, plan, signal) : [];
    const greedy = trains ? await scorer.scoreGroup([own.greedy], plan, signal) : [];
    all.push(...sampled, ...greedy);
    rewards[`reward${loop}_greedy`] = greedy[0]?.reward ?? null;
    rewards[`reward${loop}_sampled`] = weightedMean(
      sampled.map(({ reward }) => reward),
      own.weights,
    );
    if (trains) parts[loop] = partsOf(sampled, own.weights);
  }
  const judge = totalSpending(all.flatMap(({ terms }) => terms.flatMap((term) => term.judge ?? [])));
  return judge.calls === 0 ? { rewards, parts } : { rewards, parts, judge };
}

/** Mean of weight · value of each weighted term, over the rollouts that have a reward. */
function partsOf(scored: readonly ScoredRollout[], weights: readonly number[] | null): Record<string, number> {
  const weighted = scored.flatMap(({ terms }) => terms.filter(({ weight }) => weight !== 0));
  const names = [...new Set(weighted.map(({ name }) => name))];
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = scored.map(({ reward, terms }) => {
        const term = terms.find((one) => one.name === name);
        return reward === null || term === undefined || term.value === null ? null : term.weight * term.value;
      });
      const mean = weightedMean(values, weights);
      return mean === null ? [] : [[name, mean] as const];
    }),
  );
}

/** Weighted mean of the values that are not null; null if there are none. @param weights null weights all equally */
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
