/** Advantages of the groups of one loop in one step, whichever way their members were drawn. */
import type { LabConfig } from "../config/table.ts";
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
 */
export function scoreGroups(playouts: readonly Playout[], config: LabConfig): GroupScores[] {
  const batchStd = spreadOf(playouts.flatMap((playout) => playout.rewards)).std;
  return playouts.map((playout): GroupScores => {
    if (playout.rowWeights !== null) {
      return weightedAdvantages(
        playout.rewards,
        playout.rowWeights,
        config.advantageEps,
        config.scaleRewards !== "none",
      );
    }
    const spread = spreadOf(playout.rewards);
    const group = groupAdvantages(playout.rewards, {
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
