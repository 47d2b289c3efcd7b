/** Page and trainer → reward worker: scoring, and for the page the judge. */
import type { JudgeDescription } from "../engine/rewards/judge/description.ts";
import type { RewardTerm } from "../engine/rewards/term.ts";
import type { RewardScorer } from "../engine/rewards/types.ts";
import type { WireError } from "./rpc.ts";

/** Requests that both the page and the trainer send. */
export type ScoreCalls = RewardScorer;

export interface JudgeTry {
  /** Number of times that every pair is judged, in sequence; above 1 the cache is not used. */
  readonly rounds: number;
  /** Ignores the cache. */
  readonly fresh: boolean;
}

/** Findings about a server that did not answer. */
export interface ReachReport {
  /** Whether something answers at the address, even if the page may not read it. Null if this was not tried. */
  readonly answers: boolean | null;
  /** State of the browser's permission for local servers; null if the browser has no such permission. */
  readonly localPermission: "granted" | "denied" | "prompt" | null;
}

export interface Judged {
  readonly judge: JudgeDescription;
  /** Terms of every pair, per round. */
  readonly rounds: readonly (readonly RewardTerm[])[];
  readonly reach: ReachReport | null;
}

/** Reward worker → page. */
export interface RewardHost {
  problem(error: WireError): void;
}
