/**
 * Cost of a step on this device, measured by the last dry run, else by the run of this page; only for the settings, rows
 * and model that it was measured with.
 */
import { heldStorage, storageChoice } from "../../engine/loading/storage-settings.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import { type DryRun, dryRunSettings, stepCostsSame } from "../../engine/session/dry-run.ts";
import { DRY_RUN, forgetJob, jobOf, useJob } from "./jobs.ts";
import { metricStore } from "./run/metrics.ts";
import { lastPeak, useRun } from "./run/run.ts";
import { hasRowsOf, type SessionState, useSession } from "./session.ts";
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

/** Whether the next run has the rows, the model and the cost of a step of this one. */
export function costsLike({ config, model, data }: RunManifest, session: SessionState): boolean {
  const { model: loaded, config: next } = session;
  if (loaded?.hash !== model.hash || !hasRowsOf(data, session)) return false;
  // A run records how the weights are held, the settings how they will be loaded next.
  const own = { ...config, ...heldStorage(storageChoice(config)) };
  return stepCostsSame(own, { ...next, ...heldStorage(loaded.storage) });
}

/** Null if nothing was measured with the settings, rows and model of the next run. */
export function useMeasured(): Measured | null {
  const dryRun = useJob(DRY_RUN)?.result?.dryRun ?? null;
  const manifest = useRun((run) => (run.step > 0 ? run.manifest : null));
  const like = useSession((session) => manifest !== null && costsLike(manifest, session));
  const runId = like && manifest !== null ? manifest.id : null;
  const costs = useRun((run) => run.costs.at(-1));
  const peak = useRun(lastPeak);
  if (dryRun !== null) return { by: "dry run", seconds: dryRun.second.seconds, ...dryRun, dryRun };
  if (runId === null || costs === undefined) return null;
  const phases = Object.values(costs.phases);
  // Unlike step_time, without the pauses of a step that runs phase by phase.
  const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const held = metricStore(runId).latest("memory/gpu_bytes");
  return { by: "last step", seconds, held, peak, dryRun };
}
