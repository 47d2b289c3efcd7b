/** Memory of the device now, by the counts of the backend and of the lab. */
import { tf } from "../tf.ts";
import { customBufferBytes } from "./recording.ts";

// Memory bookkeeping. Rule of ownership: a tensor made inside a step lives in a `tf.tidy` of that step; a tensor
// that outlives it belongs to exactly one owner with a `dispose()` (weights, parameter sets, optimiser, feature
// cache).

export interface MemorySnapshot {
  readonly tensors: number;
  /** Bytes of live tensors. */
  readonly bytes: number;
  /** Bytes of GPU buffers in use: the backend's by its own count (0 on the CPU backend), and packed weights. */
  readonly gpuBytes: number;
  /** GPU buffers in use plus those kept in the backend's pool. */
  readonly gpuBytesAllocated: number;
}

export function memorySnapshot(): MemorySnapshot {
  const memory: tf.MemoryInfo & { numBytesInGPU?: number; numBytesAllocatedInGPU?: number } = tf.memory();
  return {
    tensors: memory.numTensors,
    bytes: memory.numBytes,
    gpuBytes: (memory.numBytesInGPU ?? 0) + customBufferBytes(),
    gpuBytesAllocated: (memory.numBytesAllocatedInGPU ?? 0) + customBufferBytes(),
  };
}
