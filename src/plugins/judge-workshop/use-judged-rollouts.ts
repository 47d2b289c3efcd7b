import { readGroups } from "../../app/clients/run/run-reads.ts";
import { useViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { useAsync } from "../../app/components/use-async.ts";
import { readOnce } from "../../app/stores/reads.ts";
import { useRun } from "../../app/stores/run/run.ts";
import { finishedSteps, type ReadSteps, readSteps } from "./judged-steps.ts";

const NOTHING: ReadSteps = { groups: [], unread: [] };

/** Groups of the newest finished steps of the viewed run; the previous groups stay until the new ones are read. */
export function useJudgedRollouts(): ReadSteps {
  const run = useViewedRun();
  const done = useRun((state) => state.step);
  const runId = run?.runId ?? null;
  const steps = finishedSteps(run?.steps ?? [], run?.source === "live" ? done : null);
  // The source caches steps: a new step costs one file.
  const { value } = useAsync(
    steps.length === 0 ? null : runId,
    (id, signal) => readSteps((step) => readOnce(readGroups(id, step)), steps, signal),
    [steps.join()],
  );
  return value ?? NOTHING;
}
