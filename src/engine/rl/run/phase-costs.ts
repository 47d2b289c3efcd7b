/** Costs of a step's phases: wall time, GPU time, and device calls. */

import { groupsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { gpuCounts, passClock, peakBytes } from "../../gpu/runtime/counters.ts";
import { memorySnapshot } from "../../gpu/runtime/memory.ts";
import { flushBackend } from "../../gpu/runtime/program.ts";
import type { PhaseCost, PhaseCosts } from "../../runs/phase-lines.ts";
import type { PhaseCounts, PhaseTimes } from "./events.ts";
import type { GpuMeter } from "./run-control.ts";

/** Measures the current device of this thread. */
export const DEVICE_METER: GpuMeter = {
  counts: gpuCounts,
  peak: peakBytes,
  label: (phase) => passClock()?.label(phase),
};

/** Starts timing; earlier passes do not count. */
export function restartGpuTimes(): void {
  passClock()?.restart();
}

/**
 * Seconds of GPU work in each phase since the restart; null without timestamp queries.
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
    // Without passes the time is 0; with untimed passes it is unknown.
    const gpuSeconds = gpu === null ? null : (gpu.get(phase) ?? (counted.dispatches === 0 ? 0 : null));
    costs[phase] = { seconds: times[phase] ?? 0, gpuSeconds, ...counted };
  }
  return costs;
}

/** Seconds of every phase, by metric. */
export function timeMetrics(times: PhaseTimes): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([phase, seconds]) => [`time/${phase}`, seconds]));
}

/**
 * @param pooled bytes of free buffers, which do not count as allocated, because a repeated run may start with a
 * different pool
 * @param trainRows number of training rows, at least 1
 */
export function stepFacts(step: number, config: LabConfig, pooled: number, trainRows: number): Record<string, number> {
  const memory = memorySnapshot();
  const rows = config.mode === "sft" ? config.accumulation * config.promptsPerStep : groupsPerStep(config);
  return {
    "memory/num_tensors": memory.tensors,
    "memory/gpu_bytes": memory.gpuBytes,
    "memory/gpu_bytes_allocated": memory.gpuBytesAllocated - pooled,
    epoch: (step * rows) / trainRows,
  };
}
