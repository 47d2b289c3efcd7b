/** What the phases of a step cost: time by the clock of the machine and by that of the GPU, and calls of the device. */
import { gpuCounts, passClock } from "../../gpu/runtime/counters.ts";
import { flushBackend } from "../../gpu/runtime/program.ts";
import type { PhaseCost, PhaseCosts } from "../../runs/phase-lines.ts";
import type { PhaseCounts, PhaseTimes } from "./events.ts";
import type { GpuMeter } from "./run-control.ts";

/** Measures the device of this thread, whichever it is at the moment. */
export const DEVICE_METER: GpuMeter = {
  counts: gpuCounts,
  label: (phase) => passClock()?.label(phase),
};

/** Begins to time passes; those before do not count. */
export function restartGpuTimes(): void {
  passClock()?.restart();
}

/**
 * Seconds the GPU worked in each phase since the restart; null without timestamp queries.
 * @throws LabError("gpu") when the device is lost
 */
export async function gpuTimes(): Promise<ReadonlyMap<string, number> | null> {
  const clock = passClock();
  if (clock === undefined) return null;
  flushBackend();
  return await clock.read();
}

export function phaseCosts(
  times: PhaseTimes,
  counts: PhaseCounts,
  gpu: ReadonlyMap<string, number> | null,
): PhaseCosts {
  const costs: Record<string, PhaseCost> = {};
  for (const phase of Object.keys(times) as (keyof PhaseTimes)[]) {
    const counted = counts[phase];
    if (counted === undefined) continue;
    // No pass at all is no time at all, passes that could not be timed are no number.
    const gpuSeconds = gpu === null ? null : (gpu.get(phase) ?? (counted.dispatches === 0 ? 0 : null));
    costs[phase] = { seconds: times[phase] ?? 0, gpuSeconds, ...counted };
  }
  return costs;
}
