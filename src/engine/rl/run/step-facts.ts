/** Metrics of a step besides its loss: memory and progress. */
import { groupsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { memorySnapshot } from "../../gpu/runtime/memory.ts";

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
