import { composeReward } from "./compose.ts";
import { METEOR_DEFAULTS, Meteor, type MeteorParameters } from "./meteor/meteor.ts";
import type { RewardTerm } from "./term.ts";
import type { CaptionPair, CaptionScorer, ScoredRollout } from "./types.ts";
import type { Wordnet } from "./wordnet.ts";

export { composeReward } from "./compose.ts";

/** Weights of loop 2 with a judge. Without one METEOR counts alone and in full. */
export const CAPTION_WEIGHTS = { meteor: 0.25, judge: 0.75 } as const;

/** The reward of a caption from its terms: METEOR, and the judge's verdict when there is a judge. */
export interface CaptionTerms {
  readonly meteor: RewardTerm;
  /** Null without a judge; a judge that failed is a term whose value is null. */
  readonly judge: RewardTerm | null;
}

/**
 * Terms of loop 2 with their weights and the reward: METEOR alone with weight 1 when there is no judge, else
 * 0.25 METEOR + 0.75 judge, null when the judge gave no verdict (docs/spec/rewards.md#3-the-caption-judge).
 */
export function captionReward({ meteor, judge }: CaptionTerms): ScoredRollout {
  const terms: RewardTerm[] =
    judge === null
      ? [{ ...meteor, weight: 1 }]
      : [
          { ...meteor, weight: CAPTION_WEIGHTS.meteor },
          { ...judge, weight: CAPTION_WEIGHTS.judge },
        ];
  return { reward: composeReward(terms), terms };
}

/** METEOR of a pair as a reward term of weight 1, with its alignment and a remark when a side has no words. */
export function meteorTerm(meteor: Meteor, { reference, hypothesis }: CaptionPair): RewardTerm {
  const detail = meteor.score(reference, hypothesis);
  const term: RewardTerm = { name: "meteor", value: detail.score, weight: 1, meteor: detail };
  if (detail.hypothesis.length === 0) return { ...term, note: "empty caption" };
  if (detail.reference.length === 0) return { ...term, note: "empty reference" };
  return term;
}

/** A scorer of caption pairs without a judge: the reward is METEOR. Keep one for a run; it remembers words. */
export function meteorScorer(wordnet: Wordnet, parameters: MeteorParameters = METEOR_DEFAULTS): CaptionScorer {
  const meteor = new Meteor(wordnet, parameters);
  return {
    score: async (pairs) => pairs.map((pair) => captionReward({ meteor: meteorTerm(meteor, pair), judge: null })),
  };
}
