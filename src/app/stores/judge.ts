/** State of the judge in the page: whether a key is set, results of tests. The key itself is not stored here. */
import { create } from "zustand";
import type { QuestionCounts } from "../../engine/rewards/judge/questions/question-set.ts";
import type { TestPair } from "../../engine/rewards/judge/test-pairs.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { Judged } from "../../protocol/reward.ts";
import type { WireError } from "../../protocol/rpc.ts";
import { useSession } from "./session.ts";

export interface TestResult extends Judged {
  readonly pairs: readonly TestPair[];
  /** Settings of the test. */
  readonly url: string;
}

export interface Calibration extends Judged {
  readonly pairs: readonly CaptionPair[];
}

/** A pair entered by the user, with its verdict. */
export interface PairVerdict extends Judged {
  /** Unique in the page. */
  readonly id: number;
  readonly pair: CaptionPair;
  /** Settings of the test. */
  readonly url: string;
  readonly counts: QuestionCounts;
}

export interface JudgeState {
  /** Origin that the key belongs to; null without a key. */
  readonly keyOrigin: string | null;
  /** Whether to remember the key on this device. */
  readonly keepKey: boolean;
  readonly busy: "test" | "pair" | "calibration" | "models" | null;
  readonly models: readonly string[] | null;
  readonly test: TestResult | null;
  readonly calibration: Calibration | null;
  /** The pair being edited. */
  readonly draft: CaptionPair;
  /** Newest first. */
  readonly verdicts: readonly PairVerdict[];
  /** Why the last test failed. */
  readonly problem: WireError | null;
  /** Kind of the last test. */
  readonly last: JudgeState["busy"];
}

export const useJudge = create<JudgeState>()(() => ({
  keyOrigin: null,
  keepKey: false,
  busy: null,
  models: null,
  test: null,
  calibration: null,
  draft: { reference: "", hypothesis: "" },
  verdicts: [],
  problem: null,
  last: null,
}));

/** Why the judge cannot be tried now; null when it can. */
export function useTryBlocker(): string | null {
  const url = useSession((session) => session.config.judgeUrl);
  const busy = useJudge((state) => state.busy !== null);
  if (busy) return "Another test is in progress";
  return url === "" ? "Set the judge's address first" : null;
}
