/** Page ↔ reward worker on a line of its own: trying a judge out, its key, and the browser's own model. */
import type { LabConfig } from "../engine/config/table.ts";
import type { JudgeDescription } from "../engine/rewards/judge/description.ts";
import type { ReachReport } from "../engine/rewards/judge/providers/diagnosis.ts";
import type { ChatRequest } from "../engine/rewards/judge/providers/provider.ts";
import type { RewardTerm } from "../engine/rewards/term.ts";
import type { CaptionPair } from "../engine/rewards/types.ts";
import type { RequestId, WireError } from "./common.ts";

export type ToJudge =
  /** The key of one origin, held in memory; "" forgets it. */
  | { readonly type: "judge-key"; readonly key: string; readonly origin: string }
  | JudgeTry
  | { readonly type: "judge-models"; readonly request: RequestId; readonly config: LabConfig }
  /** Forgets all replies of earlier runs. */
  | { readonly type: "judge-forget"; readonly request: RequestId }
  | { readonly type: "cancel"; readonly request: RequestId }
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

export type FromJudge =
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
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };

/** Scores of caption pairs, as `FromJudge` carries them. */
export type Judged = Omit<Extract<FromJudge, { readonly type: "judged" }>, "type" | "request">;
