/** Runs that train in another tab of this browser. */
import { useEffect, useState } from "react";
import { heldRuns } from "../../engine/storage/lock.ts";
import { isActive, runStore, useRun } from "./run.ts";
import { addProblem } from "./session.ts";

/** Blocker of a new run. */
export const TRAINS_ELSEWHERE = "A run is training in another tab of this browser";

/** Milliseconds between two queries: locks send no change events. */
const PACE = 1500;

/** The run that this page trains. */
function ownRun(): string | null {
  const { state, runId } = runStore.getState();
  return isActive(state) ? runId : null;
}

/** Ids of the runs that other tabs train, updated while the caller is mounted. */
export function useOtherTabs(): readonly string[] {
  const own = useRun((run) => (isActive(run.state) ? run.runId : null));
  const [held, setHeld] = useState("");
  useEffect(() => {
    let current = true;
    let failed = false;
    let before: ReadonlySet<string> = new Set();
    const look = async (): Promise<void> => {
      try {
        const now = new Set([...(await heldRuns())].filter((id) => id !== ownRun()));
        // A run of this page releases its lock shortly after it ends: one observation is not enough.
        const lasting = [...now].filter((id) => before.has(id));
        before = now;
        if (current) setHeld(lasting.sort().join("\n"));
      } catch (thrown) {
        // A browser that refuses will always refuse.
        if (!failed) addProblem({ code: "internal", message: `Cannot detect other tabs: ${String(thrown)}` });
        failed = true;
      }
    };
    const timer = setInterval(() => void look(), PACE);
    void look();
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, []);
  return held.split("\n").filter((id) => id !== "" && id !== own);
}
