import { storedGroups } from "../../app/components/rollout/group-source.ts";
import { useViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { useAsync } from "../../app/components/use-async.ts";
import { useRun } from "../../app/stores/run/run.ts";
import { finishedSteps, type ReadSteps, readSteps } from "./judged-steps.ts";

const NOTHING: ReadSteps = { groups: [], unread: [] };

/** Groups of the newest finished steps of the viewed run; the previous groups stay until the new ones are read. */
export function useJudgedRollouts(): ReadSteps {
  const run = useViewedRun();
  const done = useRun((state) => state.step);
  const runId = run?.runId ?? null;
  const steps = finishedSteps(run?.steps ?? [], run?.live === true ? done : null);
  // The source caches steps: a new step costs one file.
  const { value } = useAsync(
    steps.length === 0 ? null : runId,
    (id, signal) => readSteps((step) => storedGroups.step(id, step), steps, signal),
    [steps.join()],
  );
  return value ?? NOTHING;
}
