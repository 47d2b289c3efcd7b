import { useEffect, useMemo, useState } from "react";
import type { StoredEvaluation } from "../../../../engine/runs/evaluations.ts";
import { lab } from "../../../clients/lab.ts";
import { joinSources } from "../../../components/charts/joined-source.ts";
import { fillMetrics, metricStore } from "../../../stores/metrics.ts";
import { useRun } from "../../../stores/run.ts";

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

/** Curves and held-out scores of stored runs. @param key their ids, separated by commas */
export function useCompared(key: string): Compared {
  const arrived = useRun((run) => run.evaluations);
  const [read, setRead] = useState<{
    readonly key: string;
    readonly evaluations: Scores;
    readonly problem: string | null;
  }>();
  const source = useMemo(() => joinSources(key.split(",").map((id) => ({ id, source: metricStore(id) }))), [key]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a further evaluation is the reason to read again
  useEffect(() => {
    let current = true;
    const evaluations = new Map<string, readonly StoredEvaluation[]>();
    const readOne = async (id: string): Promise<void> => {
      const { data } = lab();
      fillMetrics(id, (await data.run(id)).metrics);
      evaluations.set(id, await data.evaluations(id));
    };
    const readAll = async (): Promise<void> => {
      let problem: string | null = null;
      for (const id of key.split(",")) {
        try {
          await readOne(id);
        } catch (thrown) {
          problem ??= `${id}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
        }
      }
      if (current) setRead({ key, evaluations, problem });
    };
    void readAll();
    return () => {
      current = false;
    };
  }, [key, arrived]);
  const known = read?.key === key ? read : undefined;
  return { source, evaluations: known?.evaluations ?? NONE, problem: known?.problem ?? null };
}
