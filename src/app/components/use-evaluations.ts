import type { BestCheckpoint } from "../../engine/runs/checkpoint/best-checkpoint.ts";
import type { StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { lab } from "../clients/lab.ts";
import { useRun } from "../stores/run/run.ts";
import type { ViewedRun } from "./rollout/use-viewed-run.ts";
import { useAsync } from "./use-async.ts";

export interface Evaluations {
  readonly list: readonly StoredEvaluation[];
  /** Of the stored checkpoints; null when none was evaluated. */
  readonly best: BestCheckpoint | null;
  readonly loading: boolean;
  readonly problem: string | null;
}

const NONE = { list: [], best: null };

/**
 * Held-out evaluations of a run, read again after each new evaluation or checkpoint of the run of this page, and with each
 * read of a run that is computed elsewhere. Earlier results stay when a read fails.
 */
export function useEvaluations(run: ViewedRun | null): Evaluations {
  const runId = run?.runId ?? null;
  const elsewhere = run?.followed === true || run?.otherTabs === true ? run.manifest : null;
  const arrived = useRun((run) => run.evaluations);
  const saved = useRun((run) => run.lastCheckpoint?.step);
  const { last, loading, problem } = useAsync(
    runId,
    async (id) => {
      const { data } = lab();
      const [list, { run }] = await Promise.all([data.evaluations(id), data.run(id)]);
      return { list, best: run.best };
    },
    // Each further evaluation or checkpoint causes a new read.
    [arrived, saved, elsewhere],
  );
  return { ...(last ?? NONE), loading: runId === null || loading, problem };
}
