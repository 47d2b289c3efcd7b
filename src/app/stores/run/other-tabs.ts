/** Runs that train in another tab of this browser. */
import { useMemo } from "react";
import { heldRuns } from "../../../engine/storage/lock.ts";
import { EVALUATION, runningOf } from "../jobs.ts";
import { navigate, useRoute } from "../route.ts";
import { addProblem, useSession } from "../session.ts";
import { forgetRun, isActive, useRun } from "./run.ts";

/** Milliseconds between two queries: locks send no change events. */
const PACE = 1500;

/** The run that this page trains, and the one whose checkpoint it evaluates. */
function ownRuns(): readonly (string | null | undefined)[] {
  const { state, runId } = useRun.getState();
  return [isActive(state) ? runId : null, runningOf(EVALUATION)?.runId];
}

/**
 * Starts to look for runs in other tabs.
 * @param onReleased called when another tab has released a run: the run ended, or the tab was closed during the run
 */
export function followOtherTabs(onReleased: () => void): void {
  let failed = false;
  let before: ReadonlySet<string> = new Set();
  const look = async (): Promise<void> => {
    try {
      // A run of this page that starts holds its lock before the page knows its id.
      if (useRun.getState().state === "starting") return;
      const held = await heldRuns();
      const own = ownRuns();
      const now = new Set([...held].filter((id) => !own.includes(id)));
      // A run of this page releases its lock shortly after it ends: one observation is not enough.
      const lasting = [...now].filter((id) => before.has(id)).sort();
      const released = [...before].some((id) => !held.has(id));
      before = now;
      const { otherTabs } = useSession.getState();
      if (String(lasting) !== String(otherTabs)) useSession.setState({ otherTabs: lasting });
      const { runId } = useRun.getState();
      // Another tab has continued the run of this page, so this page's copy is outdated.
      if (runId !== null && lasting.includes(runId)) forgetRun(runId);
      // The run that the page showed while the other tab trained it stays in view.
      const [shown] = otherTabs;
      if (shown !== undefined && !held.has(shown) && runId === null && useRoute.getState().run === null) {
        navigate({ run: shown });
      }
      if (released) onReleased();
    } catch (thrown) {
      // A browser that refuses once always refuses, so one problem is enough.
      if (!failed) addProblem({ code: "internal", message: `Cannot detect other tabs: ${String(thrown)}` });
      failed = true;
    }
  };
  setInterval(() => void look(), PACE);
  void look();
}

/** Ids of the runs that other tabs train. */
export function useOtherTabs(): readonly string[] {
  const own = useRun((run) => (isActive(run.state) ? run.runId : null));
  const held = useSession((session) => session.otherTabs);
  return useMemo(() => held.filter((id) => id !== own), [held, own]);
}
