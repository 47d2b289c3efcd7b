/** Trainer ↔ reward worker over a MessagePort, and page → reward worker for set-up. */
import type { LabConfig } from "../engine/config/table.ts";
import type { RewardPlan } from "../engine/rewards/composer/plan.ts";
import type { ChatRequest } from "../engine/rewards/judge/provider.ts";
import type { JudgeDescription } from "../engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../engine/rewards/term.ts";
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
  | CancelRequest
  /** The judge's key, held in memory; "" forgets it. */
  | { readonly type: "judge-key"; readonly key: string }
  | JudgeTry
  | { readonly type: "judge-models"; readonly request: RequestId; readonly config: LabConfig }
  | { readonly type: "judge-forget"; readonly request: RequestId }
  /** Answer of the browser's own model, which workers cannot reach. */
  | { readonly type: "page-reply"; readonly id: number; readonly text: string | null; readonly problem: string };

/** Asks the judge of a configuration about pairs, for the Judge screen; a run's own judge and budget are untouched. */
export interface JudgeTry {
  readonly type: "judge-try";
  readonly request: RequestId;
  readonly config: LabConfig;
  readonly pairs: readonly CaptionPair[];
  /** How often every pair is judged, one after the other; above 1 nothing is taken from the cache. */
  readonly rounds: number;
  readonly fresh: boolean;
}

/** What was found out about a server that gave no answer. */
export interface ReachReport {
  /** Something answers at the address, although the page may not read it. Null when it was not tried. */
  readonly answers: boolean | null;
  /** State of the browser's permission for local servers; null where there is none. */
  readonly localPermission: "granted" | "denied" | "prompt" | null;
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
  | { readonly type: "begun"; readonly request: RequestId; readonly judge: JudgeDescription | null }
  | {
      readonly type: "judged";
      readonly request: RequestId;
      readonly judge: JudgeDescription;
      /** Terms of every pair, per round. */
      readonly rounds: readonly (readonly RewardTerm[])[];
      readonly reach: ReachReport | null;
    }
  | { readonly type: "models"; readonly request: RequestId; readonly models: readonly string[] }
  | { readonly type: "done"; readonly request: RequestId }
  /** A model is being fetched into the browser. */
  | { readonly type: "judge-progress"; readonly text: string; readonly share: number }
  /** The browser's own model is to be asked by the page. */
  | { readonly type: "page-prompt"; readonly id: number; readonly request: ChatRequest }
  | { readonly type: "page-cancel"; readonly id: number }
  | { readonly type: "scores"; readonly request: RequestId; readonly scores: readonly ScoredRollout[] }
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };
