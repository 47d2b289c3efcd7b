import { METEOR_DEFAULTS, Meteor } from "./meteor/meteor.ts";
import { meteorOf } from "./terms/meteor.ts";
import type { CaptionPair, CaptionScorer, ScoredRollout } from "./types.ts";
import type { Wordnet } from "./wordnet.ts";

/** The reward of a caption pair without a judge: METEOR with weight 1. */
export function captionReward(meteor: Meteor, { reference, hypothesis }: CaptionPair): ScoredRollout {
  const { value, ...details } = meteorOf(meteor, reference, hypothesis);
  return { reward: value, terms: [{ name: "meteor", value, weight: 1, ...details }] };
}

/** A scorer of caption pairs without a judge. Keep one per run, because it caches words. */
export function meteorScorer(wordnet: Wordnet): CaptionScorer {
  const meteor = new Meteor(wordnet, METEOR_DEFAULTS);
  return { score: async (pairs) => pairs.map((pair) => captionReward(meteor, pair)) };
}
