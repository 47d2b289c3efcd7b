import { useEffect, useState } from "react";
import { report } from "../../clients/lab.ts";
import { storedGroups } from "../../components/rollout/stored-groups.ts";
import { useViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { useRun } from "../../stores/run.ts";
import { finishedSteps, type ReadSteps, readSteps } from "./judged-steps.ts";

export interface JudgedRollouts extends ReadSteps {
  readonly runId: string | null;
}

const NOTHING: ReadSteps = { groups: [], unread: [] };

/** Groups of the newest finished steps of the viewed run; the previous groups stay until the new ones are read. */
export function useJudgedRollouts(): JudgedRollouts {
  const run = useViewedRun();
  const done = useRun((state) => state.step);
  const runId = run?.runId ?? null;
  const steps = finishedSteps(run?.steps ?? [], run?.live === true ? done : null).join(",");
  const [read, setRead] = useState<{ readonly runId: string; readonly found: ReadSteps } | null>(null);
  useEffect(() => {
    if (runId === null || steps === "") return;
    const stop = new AbortController();
    const reading = async (): Promise<void> => {
      // The source caches steps: a new step costs one file.
      const wanted = steps.split(",").map(Number);
      const found = await readSteps((step) => storedGroups.step(runId, step), wanted, stop.signal);
      if (found !== null) setRead({ runId, found });
    };
    report(reading());
    return () => stop.abort();
  }, [runId, steps]);
  return { runId, ...(read !== null && read.runId === runId && steps !== "" ? read.found : NOTHING) };
}
