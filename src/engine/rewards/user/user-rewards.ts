import type { UserRewardPlan } from "../composer/plan.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";

/** Runs a custom reward over a group, isolated from everything else. */
export interface UserRewards {
  /**
   * @param terms built-in terms of each rollout
   * @returns one finite number per rollout
   * @throws LabError("held") naming what the function did; its sandbox is discarded, nothing else changes
   */
  run(
    plan: UserRewardPlan,
    group: readonly RolloutFacts[],
    terms: readonly (readonly RewardTerm[])[],
  ): Promise<readonly number[]>;
}
