import { useSyncExternalStore } from "react";
import { metricStore } from "../stores/run/metrics.ts";

const never = (): (() => void) => () => undefined;

/** Newest value of the first of these metrics that the run has logged, or null. */
export function useLatestMetric(runId: string | null, names: readonly string[]): number | null {
  const store = runId === null ? null : metricStore(runId);
  return useSyncExternalStore(store === null ? never : (listener) => store.subscribe(listener), () => {
    for (const name of names) {
      const value = store?.latest(name) ?? null;
      if (value !== null) return value;
    }
    return null;
  });
}

/** Bytes that the run takes on the GPU: of all buffers if measured, else of live tensors. */
export const GPU_BYTES = ["memory/gpu_bytes_allocated", "memory/gpu_bytes"] as const;
/** Live tensors after the step. */
export const GPU_TENSORS = ["memory/num_tensors"] as const;
