/** Advantages of the groups of one loop in one step, whichever way their members were drawn. */
import type { LabConfig } from "../config/table.ts";
import { STREAM, uniform } from "../gpu/random.ts";
import { groupAdvantages, spreadOf } from "./advantages.ts";
import type { Playout } from "./playout.ts";
import { weightedAdvantages } from "./weighted-advantages.ts";

export interface GroupScores {
  /** [N]. */
  readonly advantages: readonly number[];
  readonly mean: number;
  readonly std: number;
  readonly zeroSpread: boolean;
}

/**
 * Sampled groups are normalised by grpo.md §2; groups that hold a whole action set use their probabilities.
 * @param playouts all groups of one loop; `scaleRewards: batch` takes the deviation over all of them
 * @param step address of the permutations, where the rewards are shuffled as a control
 */
export function scoreGroups(playouts: readonly Playout[], config: LabConfig, step: number): GroupScores[] {
  const batchStd = spreadOf(playouts.flatMap((playout) => playout.rewards)).std;
  return playouts.map((playout): GroupScores => {
    const rewards = config.shuffleRewards ? shuffled(playout, config.seed, step) : playout.rewards;
    if (playout.rowWeights !== null) {
      return weightedAdvantages(rewards, playout.rowWeights, config.advantageEps, config.scaleRewards !== "none");
    }
    const spread = spreadOf(rewards);
    const group = groupAdvantages(rewards, {
      groupSize: playout.rollouts,
      scale: config.scaleRewards === "batch" ? "none" : config.scaleRewards,
      eps: config.advantageEps,
      baseline: "mean",
    });
    const divisor = config.scaleRewards === "batch" ? batchStd + config.advantageEps : 1;
    return {
      advantages: group.advantages.map((advantage) => advantage / divisor),
      mean: spread.mean,
      std: spread.std,
      zeroSpread: spread.zeroSpread,
    };
  });
}

/** The group's rewards in another order (Fisher and Yates): same mean and spread, nothing to learn from. */
function shuffled({ rewards, loop, group }: Playout, seed: number, step: number): (number | null)[] {
  const order = [...rewards];
  for (let last = order.length - 1; last > 0; last--) {
    const draw = uniform({ seed, step, loop, row: group, rollout: last, position: 0, stream: STREAM.shuffle });
    const other = Math.floor(draw * (last + 1));
    [order[last], order[other]] = [order[other] as number | null, order[last] as number | null];
  }
  return order;
}
