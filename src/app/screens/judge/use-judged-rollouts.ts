import { useEffect, useState } from "react";
import type { GroupRecord } from "../../../engine/runs/records.ts";
import { lab, report } from "../../clients/lab.ts";
import { useViewedRun } from "../../components/rollout/use-viewed-run.ts";

/** Steps that are read at most, the newest: enough for ranks, little enough to hold. */
const STEPS = 24;

export interface JudgedRollouts {
  readonly runId: string | null;
  readonly groups: readonly GroupRecord[];
}

/** Groups of the newest steps of the run that is looked at. */
export function useJudgedRollouts(): JudgedRollouts {
  const run = useViewedRun();
  const runId = run?.runId ?? null;
  const steps = (run?.steps ?? []).slice(-STEPS).join(",");
  const [groups, setGroups] = useState<readonly GroupRecord[]>([]);
  useEffect(() => {
    let current = true;
    setGroups([]);
    if (runId === null || steps === "") return;
    const read = async (): Promise<void> => {
      const found: GroupRecord[] = [];
      for (const step of steps.split(",").map(Number)) {
        if (!current) return;
        found.push(...(await lab().data.runGroups(runId, step)));
      }
      if (current) setGroups(found);
    };
    report(read());
    return () => {
      current = false;
    };
  }, [runId, steps]);
  return { runId, groups };
}
