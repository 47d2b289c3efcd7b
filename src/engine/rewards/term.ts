/** Facts of a rollout that rewards may use, and the terms they return. */
import type { Rle } from "../data/mask/rle.ts";
import type { LoopId } from "../rl/loops/abouts.ts";

/** Facts of one rollout that rewards may use. */
export interface RolloutFacts {
  readonly loop: LoopId;
  /** The data set's caption; null when an imported file has none. */
  readonly reference: string | null;
  /**
   * Generated text: the policy's caption (loop 1) or caption′ (loop 2); null if the mask covered nothing to describe.
   */
  readonly caption: string | null;
  /** The data set's mask; null when an imported file has none. */
  readonly given: Rle | null;
  /** Loop 1: mask′ of the partner. Loop 2: the policy's mask. Null without a mask. */
  readonly predicted: Rle | null;
  /** Frames of a clip, of which both masks are strips, frame below frame; absent for a picture. */
  readonly frames?: number;
  /** Mean probability inside the predicted mask, 0..1; null when it was not measured. */
  readonly confidence: number | null;
  /**
   * Likelihood of the row's caption given the predicted mask, by a captioner; null for a mask that covers no visual
   * token, absent if it was not computed.
   */
  readonly likelihood?: CaptionLikelihood | null;
  /** Reached the length limit without an end token. */
  readonly truncated: boolean;
  /** Number of [SEG] in the sampled answer; absent if the answer is given. */
  readonly segments?: number;
}

interface CaptionLikelihood {
  /** Geometric mean of the probabilities of the caption's tokens, end token included; 0..1. */
  readonly likelihood: number;
  /** Probability of the caption relative to the captions of the picture's other objects; null without others. */
  readonly contrast: number | null;
}

/** A reward term and its details for the inspector. */
export interface RewardTerm {
  /** "iou", "meteor", "judge", … */
  readonly name: string;
  /** Raw value before weighting; null if missing, such as after a failed judge call, never 0 instead. */
  readonly value: number | null;
  readonly weight: number;
  readonly iou?: { readonly intersection: number; readonly union: number };
  readonly meteor?: MeteorDetail;
  readonly judge?: JudgeDetail;
  /** Why the value is missing, or a remark such as "empty mask". */
  readonly note?: string;
}

export interface MeteorDetail {
  readonly hypothesis: readonly string[];
  readonly reference: readonly string[];
  /** [hypothesis index, reference index, stage]. */
  readonly matches: readonly (readonly [number, number, "exact" | "stem" | "synonym"])[];
  readonly chunks: number;
  readonly precision: number;
  readonly recall: number;
  readonly fMean: number;
  readonly penalty: number;
  readonly score: number;
}

/** One answered question. */
export interface JudgeAnswer {
  readonly type: "recognition" | "positive" | "negative";
  readonly question: string;
  readonly choices: readonly string[];
  /** Text of the chosen answer; null when the reply fits none. */
  readonly choice: string | null;
  /** Its score; null for the recognition question. */
  readonly points: number | null;
}

/** Details of a judge's term. Never contains a key or an address. */
export interface JudgeDetail {
  /** "questions": generated from the reference; "dlc": prepared. */
  readonly instrument: "questions" | "dlc";
  readonly model: string;
  /** Hash of the prompts. */
  readonly version: string;
  /** −1 … 1 before conversion to the configured range; null without a verdict. */
  readonly score: number | null;
  readonly positive: number | null;
  readonly negative: number | null;
  readonly recognised: boolean | null;
  readonly answers: readonly JudgeAnswer[];
  /** Raw replies in order, shortened. */
  readonly raw: readonly string[];
  /** Requests sent for this verdict, including repeats. */
  readonly calls: number;
  /** Whether every reply came from the cache. */
  readonly cached: boolean;
  readonly latencyMs: number;
  /** In the currency of the prices in the settings. */
  readonly cost: number;
  /** Kind of failure, if there is no verdict; else null. */
  readonly failure: string | null;
}
