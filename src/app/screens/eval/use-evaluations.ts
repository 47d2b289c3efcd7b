import { useEffect, useState } from "react";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations.ts";
import { lab } from "../../clients/lab.ts";
import { useRun } from "../../stores/run.ts";

export interface Evaluations {
  readonly list: readonly StoredEvaluation[];
  /** Of the stored checkpoints; null when none was evaluated. */
  readonly best: BestCheckpoint | null;
  readonly loading: boolean;
  readonly problem: string | null;
}

const NONE: Evaluations = { list: [], best: null, loading: true, problem: null };

/** Held-out evaluations of a run, read again after each new evaluation or checkpoint of the run of this page. */
export function useEvaluations(runId: string | null): Evaluations {
  const arrived = useRun((run) => run.evaluations);
  const saved = useRun((run) => run.lastCheckpoint?.step);
  const [read, setRead] = useState<{ readonly runId: string; readonly found: Evaluations } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a further evaluation or checkpoint is the reason to read again
  useEffect(() => {
    if (runId === null) return;
    let current = true;
    const { data } = lab();
    Promise.all([data.evaluations(runId), data.run(runId)]).then(
      ([list, { run }]) => {
        if (current) setRead({ runId, found: { list, best: run.best, loading: false, problem: null } });
      },
      (cause: unknown) => {
        const problem = cause instanceof Error ? cause.message : String(cause);
        if (current) setRead({ runId, found: { ...NONE, loading: false, problem } });
      },
    );
    return () => {
      current = false;
    };
  }, [runId, arrived, saved]);
  return read !== null && read.runId === runId ? read.found : NONE;
}
