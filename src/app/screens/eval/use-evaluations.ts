import { useEffect, useState } from "react";
import type { StoredEvaluation } from "../../../engine/runs/evaluations.ts";
import { lab } from "../../clients/lab.ts";
import { useRun } from "../../stores/run.ts";

export interface Evaluations {
  readonly list: readonly StoredEvaluation[];
  readonly loading: boolean;
  readonly problem: string | null;
}

const NONE: Evaluations = { list: [], loading: true, problem: null };

/** Held-out evaluations of a run, read anew whenever the run of this page has made another one. */
export function useEvaluations(runId: string | null): Evaluations {
  const arrived = useRun((run) => run.evaluations);
  const [read, setRead] = useState<{ readonly runId: string; readonly found: Evaluations } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a further evaluation is the reason to read again
  useEffect(() => {
    if (runId === null) return;
    let current = true;
    lab()
      .data.evaluations(runId)
      .then(
        (list) => current && setRead({ runId, found: { list, loading: false, problem: null } }),
        (cause: unknown) => {
          const problem = cause instanceof Error ? cause.message : String(cause);
          if (current) setRead({ runId, found: { list: [], loading: false, problem } });
        },
      );
    return () => {
      current = false;
    };
  }, [runId, arrived]);
  return read !== null && read.runId === runId ? read.found : NONE;
}
