/** Time and GPU calls of a step's phases, under their logged names (meanings: runs/metric-rows-gpu.ts). */
import type { PhaseCounts, PhaseTimes } from "./events.ts";

/** `time/<phase>` and `gpu/<phase>/…` of every phase that the step entered. */
export function phaseMetrics(times: PhaseTimes, counts: PhaseCounts): Record<string, number> {
  const out: Record<string, number> = {};
  for (const [phase, seconds] of Object.entries(times)) out[`time/${phase}`] = seconds;
  for (const [phase, { dispatches, submits, readBacks, buffers, bytes }] of Object.entries(counts)) {
    out[`gpu/${phase}/dispatches`] = dispatches;
    out[`gpu/${phase}/submits`] = submits;
    out[`gpu/${phase}/read_backs`] = readBacks;
    out[`gpu/${phase}/buffers`] = buffers;
    out[`gpu/${phase}/bytes`] = bytes;
  }
  return out;
}
