/** Why a run cannot begin, or the device cannot be measured, in one sentence each. */
import { DRY_RUN, jobOf, useJob } from "../../stores/jobs.ts";
import { useOtherTabs } from "../../stores/run/other-tabs.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { type SessionState, useSession } from "../../stores/session.ts";

/** What any run waits for, also a resumed run with stored settings; null for nothing. */
export function busyBlocker({ gpuError, opening, modelProgress }: SessionState): string | null {
  if (gpuError !== null) return gpuError.message;
  if (opening !== null) return "The rows are still loading";
  if (modelProgress !== null) return "The model is still loading";
  return jobOf(DRY_RUN)?.state === "running" ? DRY : null;
}

const DRY = "A dry run is in progress; wait for it or cancel it";

/** What any run waits for or needs and the page lacks; null if nothing is missing. */
export function loadedBlocker(session: SessionState = useSession.getState()): string | null {
  const { dataInfo, rows, model } = session;
  const busy = busyBlocker(session);
  if (busy !== null) return busy;
  if (dataInfo === null || rows.length === 0) return "No rows are loaded; open shards or use the demo shard";
  const unready = dataInfo.checks.find((check) => check.blocks && !check.ok);
  if (unready !== undefined) return `The data is not ready for training: ${unready.detail}`;
  return model === null ? "No model is loaded; open a checkpoint folder or use the pocket model" : null;
}

/** What keeps a new run from starting with the current settings; null when nothing does. */
export function startBlocker(session: SessionState = useSession.getState()): string | null {
  const { config, plan, otherTabs } = session;
  if (otherTabs.length > 0) return "A run is training in another tab of this browser";
  const missing = loadedBlocker(session);
  if (missing !== null) return missing;
  if (config.judge !== "off" && config.judgeUrl === "") {
    return "The judge is on but has no address. Set one under Rewards → Judge or turn the judge off";
  }
  return plan?.problems[0]?.sentence ?? null;
}

/** What keeps a run from starting, from `startBlocker` or `loadedBlocker`, as it changes. */
export function useBlocker(of: (session: SessionState) => string | null): string | null {
  // A dry run also blocks, and is no part of the session.
  useJob(DRY_RUN);
  return useSession(of);
}

export const OTHER_TAB = "This run is training in another tab";

/** Says why a stored run cannot continue or be evaluated now, or null: by what it lacks itself, and what is not open. */
export function useRunBlocker(): (id: string, lack: string | null, unopened?: string | null) => string | null {
  const liveId = useRun((run) => run.runId);
  const active = useRun((run) => isActive(run.state));
  const otherTabs = useOtherTabs();
  const missing = useBlocker(loadedBlocker);
  return (id, lack, unopened = missing) => {
    if (otherTabs.includes(id)) return OTHER_TAB;
    if (active && id === liveId) return "This run is in progress";
    return lack ?? (active ? "Another run is in progress" : unopened);
  };
}

/** Why the device cannot be measured now; null if it can. */
export function useDeviceBlocker(): string | null {
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const loading = useSession((session) => session.modelProgress !== null);
  const dry = useJob(DRY_RUN)?.state === "running";
  const active = useRun((run) => isActive(run.state));
  if (!ready) return "There is no GPU device";
  if (dry) return DRY;
  if (active) return "A run is in progress. Stop it first";
  return loading ? "A model is loading" : null;
}
