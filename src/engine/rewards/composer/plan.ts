/** The reward settings of a configuration, as plain data that can be sent to the reward worker. */
import { weightKey } from "../../config/groups/reward-weights.ts";
import type { LabConfig } from "../../config/table.ts";
import { usesSetting } from "../../config/uses.ts";
import { type LoopId, perLoop } from "../../rl/loops/abouts.ts";
import { isCost, TERMS, type TermName } from "../terms/registry.ts";
import type { TermSettings } from "../terms/spec.ts";
import type { SandboxRequest } from "../user/protocol.ts";

/** Weight of every term; negative for a cost, so that the reward is the plain sum of weight · value. */
export type TermWeights = Readonly<Record<TermName, number>>;

export interface RewardPlan extends TermSettings {
  readonly weights: Readonly<Record<LoopId, TermWeights>>;
  /** Effect of a missing verdict of the judge (setting missingVerdict). */
  readonly missingVerdict: LabConfig["missingVerdict"];
  /** Null without a custom reward. */
  readonly user: UserRewardPlan | null;
}

export type UserRewardPlan = Pick<SandboxRequest, "code" | "milliseconds" | "mebibytes">;

export function rewardPlan(config: LabConfig): RewardPlan {
  const weights = (loop: LoopId): TermWeights =>
    Object.fromEntries(
      TERMS.map((term) => {
        const weight = config[weightKey(loop, term)];
        // Avoids -0, which would be displayed.
        return [term, isCost(term) && weight !== 0 ? -weight : weight];
      }),
    ) as Record<TermName, number>;
  return {
    weights: perLoop(weights),
    iouShape: config.iouShape,
    emptyPair: config.emptyPairReward,
    missingVerdict: config.missingVerdict,
    lengthRatio: config.lengthRatio,
    repetitionGram: config.repetitionGram,
    leakWords: config.leakWords,
    band: { slope: config.bandSlope, centre: config.bandCentre, low: config.bandLow, high: config.bandHigh },
    user:
      config.userReward.trim() === ""
        ? null
        : { code: config.userReward, milliseconds: config.userRewardMs, mebibytes: config.userRewardMb },
  };
}

/** The custom reward that a loop of the run is rewarded by; null without one. */
export function usedCustomReward(config: LabConfig): UserRewardPlan | null {
  return usesSetting("userReward", config) ? rewardPlan(config).user : null;
}

/**
 * Effective weights: without a judge the weights of its terms move to METEOR, so that 0.25 METEOR + 0.75 judge becomes METEOR alone
 * (docs/spec/rewards.md#requirements-for-any-of-them).
 */
export function actingWeights(weights: TermWeights, judge: boolean): TermWeights {
  const asked = weights.judge + weights.utility;
  return judge || asked === 0 ? weights : { ...weights, meteor: weights.meteor + asked, judge: 0, utility: 0 };
}

/** The terms in the reward of a loop with their effective weights, in the order of the matrix. */
export function rewardTerms(config: LabConfig, loop: LoopId): readonly (readonly [term: TermName, weight: number])[] {
  const weights = actingWeights(rewardPlan(config).weights[loop], config.judge !== "off");
  return TERMS.flatMap((term) => (weights[term] === 0 ? [] : [[term, weights[term]] as const]));
}

/** The plan with the weights of the judge's terms moved to METEOR in every loop. */
export function withoutJudge(plan: RewardPlan): RewardPlan {
  return { ...plan, weights: perLoop((loop) => actingWeights(plan.weights[loop], false)) };
}
