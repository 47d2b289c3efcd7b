import { useJudge } from "../../stores/judge.ts";
import { isActive, useRun } from "../../stores/run.ts";
import { useSession } from "../../stores/session.ts";
import { tryBlocker } from "./try-blocker.ts";

/** Why a test cannot start; null when it can. */
export function useTryBlocker(): string | null {
  const config = useSession((session) => session.config);
  const busy = useJudge((state) => state.busy !== null);
  const running = useRun((run) => (isActive(run.state) ? (run.manifest?.config ?? null) : null));
  return tryBlocker(config, busy, running);
}
