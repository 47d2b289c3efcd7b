import type { LabConfig } from "../config/table.ts";
import type { RewardPlan, UserRewardPlan } from "./composer/plan.ts";
import type { Spending } from "./judge/budget.ts";
import type { JudgeDescription } from "./judge/description.ts";
import type { RewardTerm, RolloutFacts } from "./term.ts";

/** A caption pair to score: reference = the data set's text, hypothesis = generated text. */
export interface CaptionPair {
  readonly reference: string;
  readonly hypothesis: string;
  /**
   * Pictures as data URLs that a judge with prepared questions shows to its model; equal for pairs with the same
   * reference.
   */
  readonly pictures?: readonly string[];
}

/** Reward of one rollout with its parts; `reward` is null when a needed part is missing. */
export interface ScoredRollout {
  readonly reward: number | null;
  readonly terms: readonly RewardTerm[];
}

/** Scores caption pairs by METEOR alone. */
export interface CaptionScorer {
  score(pairs: readonly CaptionPair[]): Promise<readonly ScoredRollout[]>;
}

/** Scores rollouts according to a plan; runs in the reward worker of the page and inline under Node. */
export interface RewardScorer extends CaptionScorer {
  /**
   * @param group rollouts of one prompt and one loop
   * @throws LabError("held") when a reward is not available and the run must wait: a custom reward was stopped, or a
   * verdict is missing and the plan says pause
   */
  scoreGroup(group: readonly RolloutFacts[], plan: RewardPlan, signal?: AbortSignal): Promise<readonly ScoredRollout[]>;
  /** Why a custom reward cannot be read, in a sentence; null if it can, or if the user has not agreed to it yet. */
  unread(custom: UserRewardPlan): Promise<string | null>;
  /**
   * Before a run: reads its custom reward and opens its judge.
   * @param before the run's spending so far; nothing if absent
   * @returns the judge's record for the run folder; null if the configuration has no judge
   * @throws LabError("bad-config") when custom reward or judge cannot be used with these settings
   */
  begin(config: LabConfig, before?: Spending): Promise<JudgeDescription | null>;
}

/** A term from another source, such as a judge's verdict. */
export interface CaptionTermSource {
  /**
   * One term per pair, in order; the composer sets the weight. A failed verdict is a term whose value is null, never 0,
   * and whose note gives the reason.
   */
  terms(pairs: readonly CaptionPair[], options?: { readonly signal?: AbortSignal }): Promise<readonly RewardTerm[]>;
}
