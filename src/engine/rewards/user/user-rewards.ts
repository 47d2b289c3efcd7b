import type { UserRewardPlan } from "../composer/plan.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";

/** Runs a user-written reward over a group, away from everything else. */
export interface UserRewards {
  /**
   * @param terms what the lab itself measured about each rollout
   * @returns one finite number per rollout
   * @throws LabError("held") naming what the function did; what ran it is thrown away, nothing else is touched
   */
  run(
    plan: UserRewardPlan,
    group: readonly RolloutFacts[],
    terms: readonly (readonly RewardTerm[])[],
  ): Promise<readonly number[]>;
}
