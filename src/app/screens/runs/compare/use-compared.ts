import { useMemo } from "react";
import { toLabError } from "../../../../engine/errors.ts";
import type { StoredEvaluation } from "../../../../engine/runs/evaluations/evaluations.ts";
import { lab } from "../../../clients/lab.ts";
import { alongAxis, joinSources } from "../../../components/charts/series.ts";
import { useAsync } from "../../../components/use-async.ts";
import type { Axis } from "../../../stores/route-text.ts";
import { fillMetrics, metricStore } from "../../../stores/run/metrics.ts";
import { useRun } from "../../../stores/run/run.ts";

type Scores = ReadonlyMap<string, readonly StoredEvaluation[]>;

export interface Compared {
  /** Curves of all runs as one source, which grows while they are read. */
  readonly source: ReturnType<typeof joinSources>;
  /** Held-out scores by run. */
  readonly evaluations: Scores;
  /** One sentence about the run that could not be read. */
  readonly problem: string | null;
}

const NONE: Scores = new Map();

/**
 * Curves and held-out scores of stored runs.
 * @param key their ids, separated by commas @param rows their training rows, likewise
 */
export function useCompared(key: string, rows: string, axis: Axis): Compared {
  const arrived = useRun((run) => run.evaluations);
  const source = useMemo(() => {
    const counts = rows.split(",").map(Number);
    return joinSources(
      key.split(",").map((id, at) => ({ id, source: alongAxis(metricStore(id), axis, counts[at] ?? 0) })),
    );
  }, [key, rows, axis]);
  // Each further evaluation causes a new read.
  const { value } = useAsync(key, readAll, [arrived]);
  return { source, evaluations: value?.evaluations ?? NONE, problem: value?.problem ?? null };
}

async function readAll(key: string): Promise<Omit<Compared, "source">> {
  const { data } = lab();
  const evaluations = new Map<string, readonly StoredEvaluation[]>();
  let problem: string | null = null;
  for (const id of key.split(",")) {
    try {
      fillMetrics(id, (await data.run(id)).metrics);
      evaluations.set(id, await data.evaluations(id));
    } catch (thrown) {
      problem ??= `${id}: ${toLabError(thrown).message}`;
    }
  }
  return { evaluations, problem };
}
