/** Trainer ↔ reward worker over a MessagePort, and page → reward worker for set-up. */
import type { LabConfig } from "../engine/config/table.ts";
import type { RewardPlan } from "../engine/rewards/composer/plan.ts";
import type { JudgeDescription } from "../engine/rewards/judge/description.ts";
import type { CaptionPair, RolloutFacts, ScoredRollout } from "../engine/rewards/types.ts";
import type { RequestId, WireError } from "./common.ts";

export type ToReward =
  | {
      readonly type: "connect";
      readonly port: MessagePort /** URL of the WordNet table. */;
      readonly wordnetUrl: string;
    }
  /** Scores pairs or groups for the page (try-outs, the bench). */
  | ScoreRequest
  | GroupRequest
  | AllowRequest
  /** The Judge screen's own line; see judge.ts. */
  | { readonly type: "judge-line"; readonly port: MessagePort };

/** What the person agreed to so far; anything else is neither asked nor run. */
export interface AllowRequest {
  readonly type: "allow";
  readonly request: RequestId;
  /** Origins of judges, or TAB_MODEL. */
  readonly judges: readonly string[];
  /** Hashes of custom rewards. */
  readonly rewards: readonly string[];
}

/** From the trainer, before a run. */
export interface BeginRequest {
  readonly type: "begin";
  readonly request: RequestId;
  readonly config: LabConfig;
}

/** The asker no longer waits: calls under way are ended. */
export interface CancelRequest {
  readonly type: "cancel";
  readonly request: RequestId;
}

export interface ScoreRequest {
  readonly type: "score";
  readonly request: RequestId;
  readonly pairs: readonly CaptionPair[];
}

/** The rollouts of one group, scored as the plan says. */
export interface GroupRequest {
  readonly type: "score-group";
  readonly request: RequestId;
  readonly group: readonly RolloutFacts[];
  readonly plan: RewardPlan;
}

export type FromTrainerToReward = ScoreRequest | GroupRequest | BeginRequest | CancelRequest;

export type FromReward =
  | { readonly type: "allowed"; readonly request: RequestId }
  | { readonly type: "begun"; readonly request: RequestId; readonly judge: JudgeDescription | null }
  | { readonly type: "scores"; readonly request: RequestId; readonly scores: readonly ScoredRollout[] }
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };
