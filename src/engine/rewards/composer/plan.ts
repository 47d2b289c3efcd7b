/** What a configuration says about rewards, as plain data that can cross to the reward worker. */
import type { LabConfig } from "../../config/table.ts";
import type { IouShape } from "../iou.ts";

/** Terms that add to a reward, in the order in which they are shown. */
export const GAINS = ["iou", "meteor", "judge", "confidence", "box", "centre", "user"] as const;
/** Terms that are taken away: their value is a cost from 0 to 1. */
export const COSTS = ["length", "repetition", "leak"] as const;
export const TERMS = [...GAINS, ...COSTS] as const;
export type TermName = (typeof TERMS)[number];

/** Weight of every term; that of a cost is negative, so that the reward is the plain sum of weight · value. */
export type TermWeights = Readonly<Record<TermName, number>>;

export interface RewardPlan {
  readonly weights: { readonly 1: TermWeights; readonly 2: TermWeights };
  readonly iouShape: IouShape;
  /** Value of the IoU term when both masks are empty. */
  readonly emptyPair: number;
  /** What a missing verdict of the judge does (settings: missingVerdict). */
  readonly missingVerdict: LabConfig["missingVerdict"];
  readonly lengthRatio: number;
  readonly repetitionGram: number;
  readonly leakWords: string;
  /** Null when no function was written. */
  readonly user: UserRewardPlan | null;
}

export interface UserRewardPlan {
  readonly code: string;
  readonly milliseconds: number;
  readonly mebibytes: number;
}

type Loop = 1 | 2;
/** Settings whose value is a number. */
type WeightKey = { [K in keyof LabConfig]: LabConfig[K] extends number ? K : never }[keyof LabConfig];

/** Name of the setting that holds a term's weight. */
export function weightKey(loop: Loop, term: TermName): WeightKey {
  const name = `${term[0]?.toUpperCase()}${term.slice(1)}`;
  return `loop${loop}${name}${isCost(term) ? "Cost" : ""}` as WeightKey;
}

export function isCost(term: TermName): boolean {
  return (COSTS as readonly string[]).includes(term);
}

export function rewardPlan(config: LabConfig): RewardPlan {
  const weights = (loop: Loop): TermWeights =>
    Object.fromEntries(
      TERMS.map((term) => {
        const weight = config[weightKey(loop, term)];
        // Not -0, which would show.
        return [term, isCost(term) && weight !== 0 ? -weight : weight];
      }),
    ) as Record<TermName, number>;
  return {
    weights: { 1: weights(1), 2: weights(2) },
    iouShape: config.iouShape,
    emptyPair: config.emptyPairReward,
    missingVerdict: config.missingVerdict,
    lengthRatio: config.lengthRatio,
    repetitionGram: config.repetitionGram,
    leakWords: config.leakWords,
    user:
      config.userReward.trim() === ""
        ? null
        : { code: config.userReward, milliseconds: config.userRewardMs, mebibytes: config.userRewardMb },
  };
}

/**
 * Weights as they act: without a judge METEOR takes the judge's weight as well, so that 0.25 METEOR + 0.75 judge
 * becomes METEOR alone in full (docs/spec/rewards.md#requirements-for-any-of-them).
 */
export function actingWeights(weights: TermWeights, judge: boolean): TermWeights {
  return judge || weights.judge === 0 ? weights : { ...weights, meteor: weights.meteor + weights.judge, judge: 0 };
}
