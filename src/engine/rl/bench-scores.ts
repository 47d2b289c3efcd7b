/** Rewards and advantages of a group of the bench, as a run would give them. */
import type { LabConfig } from "../config/table.ts";
import type { BenchGroup, UnscoredGroup } from "../rewards/bench/bench-group.ts";
import type { ScoredRollout } from "../rewards/types.ts";
import { groupAdvantages, spreadOf } from "./advantages.ts";
import { weightedAdvantages } from "./weighted-advantages.ts";

/** @param scores one per rollout. Advantages are scaled by the group's own deviation, or not at all */
export function scoredGroup(
  group: UnscoredGroup,
  scores: readonly ScoredRollout[],
  config: Pick<LabConfig, "advantageEps" | "scaleRewards">,
): BenchGroup {
  const rewards = scores.map((score) => score.reward);
  const scaled = config.scaleRewards !== "none";
  const spread = spreadOf(rewards);
  const own =
    group.weights === null
      ? {
          ...spread,
          ...groupAdvantages(rewards, {
            groupSize: rewards.length,
            scale: scaled ? "group" : "none",
            eps: config.advantageEps,
            baseline: "mean",
          }),
        }
      : weightedAdvantages(rewards, group.weights, config.advantageEps, scaled);
  return {
    key: group.key,
    loop: group.loop,
    rowId: group.rowId,
    imageId: group.imageId,
    weights: group.weights,
    mean: own.mean,
    std: own.std,
    zeroSpread: own.zeroSpread,
    rollouts: group.rollouts.map(({ id, facts, completion }, at) => ({
      id,
      facts,
      completion,
      reward: rewards[at] ?? null,
      terms: scores[at]?.terms ?? [],
      advantage: own.advantages[at] ?? 0,
    })),
  };
}
