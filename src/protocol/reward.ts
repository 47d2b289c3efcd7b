/** Page and trainer → reward worker: scoring, and for the page the judge. */
import type { LabConfig } from "../engine/config/table.ts";
import type { JudgeDescription } from "../engine/rewards/judge/description.ts";
import type { RewardTerm } from "../engine/rewards/term.ts";
import type { CaptionPair, RewardScorer } from "../engine/rewards/types.ts";
import type { WireError } from "./rpc.ts";

/** Requests that both the page and the trainer send. */
export type ScoreCalls = RewardScorer;

export interface RewardCalls extends ScoreCalls {
  /**
   * Serves `ScoreCalls` to the trainer.
   * @param wordnetUrl URL of the WordNet table
   * @throws LabError when the table cannot be read
   */
  serveTrainer(port: MessagePort, wordnetUrl: string): Promise<void>;
  /**
   * Judges and custom rewards that the user agreed to so far; no others are called or run.
   * @param judges origins of judges
   * @param rewards hashes of custom rewards
   */
  allow(judges: readonly string[], rewards: readonly string[]): Promise<void>;
  /** The key of one origin, held in memory; "" forgets it. */
  setKey(key: string, origin: string): Promise<void>;
  /** Sends pairs to the judge of a configuration; a run's judge and budget are not affected. */
  tryJudge(config: LabConfig, pairs: readonly CaptionPair[], how: JudgeTry, signal: AbortSignal): Promise<Judged>;
  judgeModels(config: LabConfig, signal: AbortSignal): Promise<readonly string[]>;
  /** Forgets all replies of earlier runs. */
  forgetReplies(): Promise<void>;
}

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
