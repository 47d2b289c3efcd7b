import type { RewardTerm } from "./term.ts";

/** A caption pair to be scored: reference = the data set's text, hypothesis = generated text. */
export interface CaptionPair {
  readonly reference: string;
  readonly hypothesis: string;
}

/** Reward of one rollout with its parts; `reward` is null when a needed part is missing. */
export interface ScoredRollout {
  readonly reward: number | null;
  readonly terms: readonly RewardTerm[];
}

/** Scores caption pairs (METEOR, judge); lives in the reward worker of the page and inline under Node. */
export interface CaptionScorer {
  score(pairs: readonly CaptionPair[]): Promise<readonly ScoredRollout[]>;
}
