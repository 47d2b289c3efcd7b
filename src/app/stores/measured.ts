/** Cost of a step on this device, measured by the last dry run, else by the run of this page. */
import { type DryRun, dryRunSettings } from "../../engine/session/dry-run.ts";
import { DRY_RUN, forgetJob, jobOf, useJob } from "./jobs.ts";
import { metricStore } from "./run/metrics.ts";
import { useRun } from "./run/run.ts";
import { useSession } from "./session.ts";
import { useTry } from "./try-out.ts";

export interface Measured {
  readonly by: "dry run" | "last step";
  readonly seconds: number | null;
  /** Bytes held between steps, and at the peak; null if unknown. */
  readonly held: number | null;
  readonly peak: number | null;
  /** Null if a run measured it. */
  readonly dryRun: DryRun | null;
}

/**
 * Everything that a dry run's result depends on. Settings that it replaces are left out; a change of the run drops the
 * result.
 */
export function dryRunSubject(): readonly unknown[] {
  const { config, dataInfo, model } = useSession.getState();
  const { adapter, captioner } = useTry.getState();
  return [JSON.stringify(dryRunSettings(config)), dataInfo, model, adapter, captioner, useRun.getState().runId];
}

function dropOutdated(): void {
  const last = jobOf(DRY_RUN)?.result;
  if (last == null) return;
  const now = dryRunSubject();
  if (last.of.some((part, at) => part !== now[at])) forgetJob(DRY_RUN);
}

for (const store of [useSession, useTry, useRun]) store.subscribe(dropOutdated);

/** Null if nothing was measured. */
export function useMeasured(): Measured | null {
  const dryRun = useJob(DRY_RUN)?.result?.dryRun ?? null;
  const runId = useRun((run) => (run.step > 0 ? run.runId : null));
  const costs = useRun((run) => run.costs.at(-1));
  if (dryRun !== null) return { by: "dry run", seconds: dryRun.second.seconds, ...dryRun, dryRun };
  const store = runId === null ? null : metricStore(runId);
  if (store === null || store.length === 0) return null;
  const peaks = Object.values(costs?.phases ?? {}).map(({ peakBytes }) => peakBytes ?? 0);
  const peak = peaks.length === 0 ? null : Math.max(...peaks);
  const [seconds, held] = [store.latest("step_time"), store.latest("memory/gpu_bytes")];
  return { by: "last step", seconds, held, peak, dryRun };
}
