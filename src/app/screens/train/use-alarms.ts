import { useMemo } from "react";
import type { Alarm } from "../../../engine/runs/alarms.ts";
import { lab } from "../../clients/lab.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { useAsync } from "../../components/use-async.ts";
import { alarmKey, useRun } from "../../stores/run/run.ts";

export interface RunAlarms {
  /** Newest first, without dismissed alarms. */
  readonly list: readonly Alarm[];
  readonly loading: boolean;
  readonly problem: string | null;
}

/** Alarms of a run: those in its folder, plus live ones. */
export function useAlarms({ runId, live, steps }: ViewedRun): RunAlarms {
  const arrived = useRun((run) => run.alarms);
  const dismissed = useRun((run) => run.dismissed);
  // The live run sends its alarms; a run of another tab is read again after each step.
  const grown = live ? 0 : steps.length;
  const stored = useAsync(runId, (id) => lab().data.alarms(id), [live, grown]);
  const { value: kept, loading } = stored;
  // The folder of a new run may not exist yet.
  const problem = live ? null : stored.problem;
  return useMemo(() => {
    const all = new Map<string, Alarm>();
    for (const alarm of [...(kept ?? []), ...(live ? arrived : [])]) all.set(alarmKey(alarm), alarm);
    if (live) for (const key of dismissed) all.delete(key);
    const list = [...all.values()].sort((a, b) => b.step - a.step);
    return { list, loading, problem };
  }, [kept, loading, problem, live, arrived, dismissed]);
}
