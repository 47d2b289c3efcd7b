/**
 * Memory bookkeeping. Rule of ownership: a tensor made inside a step lives in a `tf.tidy` of that step; a tensor that
 * outlives it belongs to exactly one owner object with a `dispose()` (weights, parameter sets, optimiser, feature cache).
 */
import { ownBufferBytes } from "./own-buffers.ts";
import { tf } from "./tf.ts";

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
    gpuBytes: (memory.numBytesInGPU ?? 0) + ownBufferBytes(),
    gpuBytesAllocated: (memory.numBytesAllocatedInGPU ?? 0) + ownBufferBytes(),
  };
}

interface PooledBuffers {
  freeBuffers: Map<string, GPUBuffer[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
}

/**
 * Destroys the free buffers of the backend's pool, which by itself never shrinks (reference: webgpu.md §4).
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/memory.test.ts guards them.
 */
export function trimPool(): void {
  const backend = tf.backend() as unknown as { bufferManager?: PooledBuffers; submitQueue?: () => void };
  const pool = backend.bufferManager;
  if (pool === undefined) return;
  for (const buffers of pool.freeBuffers.values()) {
    for (const buffer of buffers) {
      pool.numBytesAllocated -= buffer.size;
      pool.numFreeBuffers -= 1;
      buffer.destroy();
    }
    buffers.length = 0;
  }
}
