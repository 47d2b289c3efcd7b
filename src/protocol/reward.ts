/** Trainer ↔ reward worker over a MessagePort, and page → reward worker for set-up. */
import type { CaptionPair, ScoredRollout } from "../engine/rewards/types.ts";
import type { RequestId, WireError } from "./common.ts";

export type ToReward =
  | {
      readonly type: "connect";
      readonly port: MessagePort /** URL of the WordNet table. */;
      readonly wordnetUrl: string;
    }
  /** Scores pairs for the page (try-outs). */
  | ScoreRequest;

export interface ScoreRequest {
  readonly type: "score";
  readonly request: RequestId;
  readonly pairs: readonly CaptionPair[];
}

export type FromReward =
  | { readonly type: "scores"; readonly request: RequestId; readonly scores: readonly ScoredRollout[] }
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };
