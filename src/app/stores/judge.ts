/** State of the judge in the page: whether a key is set, and its models. The key itself is not stored here. */
import { create } from "zustand";
import { jobKind, useRunning } from "./jobs.ts";
import { useSession } from "./session.ts";

interface JudgeState {
  /** Origin that the key belongs to; null without a key. */
  readonly keyOrigin: string | null;
  /** Whether to remember the key on this device. */
  readonly keepKey: boolean;
  readonly models: readonly string[] | null;
}

export const useJudge = create<JudgeState>()(() => ({ keyOrigin: null, keepKey: false, models: null }));

/** A test of the judge, by its name; the core lists models, plug-ins test more. */
export const JUDGE_TEST = jobKind<string>("judge test");

/** Why the judge cannot be tried now; null when it can. */
export function useTryBlocker(): string | null {
  const url = useSession((session) => session.config.judgeUrl);
  const busy = useRunning(JUDGE_TEST) !== null;
  if (busy) return "Another test is in progress";
  return url === "" ? "Set the judge's address first" : null;
}
