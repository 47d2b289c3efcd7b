import { useEffect, useMemo, useState } from "react";
import type { Alarm } from "../../../engine/runs/alarms.ts";
import { lab } from "../../clients/lab.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { alarmKey, useRun } from "../../stores/run.ts";

export interface RunAlarms {
  /** Newest first, without dismissed alarms. */
  readonly list: readonly Alarm[];
  /** Whether the run was made by a version that stored no alarms. */
  readonly unknown: boolean;
  readonly problem: string | null;
}

interface Stored {
  readonly runId: string;
  readonly alarms: readonly Alarm[] | null;
  readonly problem: string | null;
}

/** Alarms of a run: those in its folder, plus live ones. */
export function useAlarms({ runId, live, steps }: ViewedRun): RunAlarms {
  const arrived = useRun((run) => run.alarms);
  const dismissed = useRun((run) => run.dismissed);
  const [stored, setStored] = useState<Stored | null>(null);
  // The live run sends its alarms; a run of another tab is read again after each step.
  const grown = live ? 0 : steps.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new steps trigger the read
  useEffect(() => {
    let current = true;
    lab()
      .data.alarms(runId)
      .then(
        (alarms) => current && setStored({ runId, alarms, problem: null }),
        (cause: unknown) => {
          const problem = cause instanceof Error ? cause.message : String(cause);
          // The folder of a new run may not exist yet.
          if (current) setStored({ runId, alarms: [], problem: live ? null : problem });
        },
      );
    return () => {
      current = false;
    };
  }, [runId, live, grown]);
  return useMemo(() => {
    const known = stored?.runId === runId ? stored : null;
    const all = new Map<string, Alarm>();
    for (const alarm of [...(known?.alarms ?? []), ...(live ? arrived : [])]) all.set(alarmKey(alarm), alarm);
    if (live) for (const key of dismissed) all.delete(key);
    const list = [...all.values()].sort((a, b) => b.step - a.step);
    return { list, unknown: known !== null && known.alarms === null, problem: known?.problem ?? null };
  }, [stored, runId, live, arrived, dismissed]);
}
