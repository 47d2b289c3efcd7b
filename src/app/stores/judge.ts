/** State of the judge in the page: whether a key is set, what it is asked for. The key itself is not stored here. */
import { create } from "zustand";
import type { WireError } from "../../protocol/rpc.ts";
import { useSession } from "./session.ts";

interface JudgeState {
  /** Origin that the key belongs to; null without a key. */
  readonly keyOrigin: string | null;
  /** Whether to remember the key on this device. */
  readonly keepKey: boolean;
  /** Name of the test in progress; the core lists models, plug-ins test more. */
  readonly busy: string | null;
  readonly models: readonly string[] | null;
  /** Why the last test failed. */
  readonly problem: WireError | null;
  /** Kind of the last test. */
  readonly last: string | null;
}

export const useJudge = create<JudgeState>()(() => ({
  keyOrigin: null,
  keepKey: false,
  busy: null,
  models: null,
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
