/** The judge as the page knows it: whether there is a key, what a try-out gave. The key itself is not here. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { QuestionCounts } from "../../engine/rewards/judge/questions/question-set.ts";
import type { TestPair } from "../../engine/rewards/judge/test-pairs.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { WireError } from "../../protocol/common.ts";
import type { Judged } from "../../protocol/judge.ts";

export interface TestResult extends Judged {
  readonly pairs: readonly TestPair[];
  /** Settings it was made with. */
  readonly url: string;
}

export interface Calibration extends Judged {
  readonly pairs: readonly CaptionPair[];
}

/** A pair that a person wrote, with its verdict. */
export interface PairVerdict extends Judged {
  /** Unique in the page. */
  readonly id: number;
  readonly pair: CaptionPair;
  /** Settings it was made with. */
  readonly url: string;
  readonly counts: QuestionCounts;
}

export interface JudgeState {
  /** Origin that the key was given for; null without a key. */
  readonly keyOrigin: string | null;
  /** The person asked to have the key remembered on this device. */
  readonly keepKey: boolean;
  readonly busy: "test" | "pair" | "calibration" | "models" | null;
  readonly progress: { readonly text: string; readonly share: number } | null;
  readonly models: readonly string[] | null;
  readonly test: TestResult | null;
  readonly calibration: Calibration | null;
  /** The pair as it is being written. */
  readonly draft: CaptionPair;
  /** Newest first. */
  readonly verdicts: readonly PairVerdict[];
  /** Why the last try-out did not come to anything. */
  readonly problem: WireError | null;
  /** What the last try-out was. */
  readonly last: JudgeState["busy"];
}

export const judgeStore = createStore<JudgeState>()(() => ({
  keyOrigin: null,
  keepKey: false,
  busy: null,
  progress: null,
  models: null,
  test: null,
  calibration: null,
  draft: { reference: "", hypothesis: "" },
  verdicts: [],
  problem: null,
  last: null,
}));

/** Reads a part of the judge's state and follows it. */
export function useJudge<T>(select: (state: JudgeState) => T): T {
  return useStore(judgeStore, select);
}
