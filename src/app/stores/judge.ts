/** The judge as the page knows it: whether there is a key, what a try-out gave. The key itself is not here. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { TestPair } from "../../engine/rewards/judge/test-pairs.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { WireError } from "../../protocol/common.ts";
import type { Judged } from "../clients/judge-client.ts";

export interface TestResult extends Judged {
  readonly pairs: readonly TestPair[];
  /** Settings it was made with. */
  readonly url: string;
}

export interface Calibration extends Judged {
  readonly pairs: readonly CaptionPair[];
}

export interface JudgeState {
  readonly keySet: boolean;
  /** The person asked to have the key remembered on this device. */
  readonly keepKey: boolean;
  readonly busy: "test" | "calibration" | "models" | null;
  readonly progress: { readonly text: string; readonly share: number } | null;
  readonly models: readonly string[] | null;
  readonly test: TestResult | null;
  readonly calibration: Calibration | null;
  /** Why the last try-out did not come to anything. */
  readonly problem: WireError | null;
}

export const judgeStore = createStore<JudgeState>()(() => ({
  keySet: false,
  keepKey: false,
  busy: null,
  progress: null,
  models: null,
  test: null,
  calibration: null,
  problem: null,
}));

/** Reads a part of the judge's state and follows it. */
export function useJudge<T>(select: (state: JudgeState) => T): T {
  return useStore(judgeStore, select);
}
