/**
 * Memory bookkeeping. Rule of ownership: a tensor made inside a step lives in a `tf.tidy` of that step; a tensor that
 * outlives it belongs to exactly one owner with a `dispose()` (weights, parameter sets, optimiser, feature cache).
 */

import { KEPT_FREE_BYTES, KEPT_LARGE_BYTES, KEPT_LARGE_SHARE } from "../memory-sizes.ts";
import { tf } from "../tf.ts";
import { customBufferBytes } from "./raw-buffers.ts";

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

interface PooledBuffers {
  readonly freeBuffers: Map<string, GPUBuffer[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
  readonly numBytesUsed: number;
  releaseBuffer(buffer: GPUBuffer, reuse?: boolean): void;
}

/**
 * Free buffers up to this size are kept between steps: most buffers of a step are smaller, and all sizes take about the
 * same time to create.
 */
export const SMALL_BUFFER = 64 * 2 ** 10;

/**
 * Destroys the free buffers of the backend's pool, which never shrinks by itself (docs/spec/webgpu.md#4-memory-rules).
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/device.test.ts guards them.
 */
export function trimPool(): void {
  destroyFree(0);
}

/**
 * Between two phases: destroys the large free buffers, and of the small ones the largest until few enough are left.
 * @returns bytes of those that are kept, which depend on all that ran before
 */
export function trimPoolToSmall(): number {
  destroyFree(SMALL_BUFFER);
  const free = (): number => {
    const { gpuBytes, gpuBytesAllocated } = memorySnapshot();
    return gpuBytesAllocated - gpuBytes;
  };
  for (let most = SMALL_BUFFER / 2; most >= 256 && free() > KEPT_FREE_BYTES; most /= 2) destroyFree(most);
  return free();
}

/** Destroys free buffers larger than `most` bytes. */
function destroyFree(most: number): void {
  const pool = currentPool();
  if (pool === undefined) return;
  for (const buffers of pool.freeBuffers.values()) {
    // Buffers of one list have one size.
    if (buffers[0] !== undefined && buffers[0].size > most) while (buffers.length > 0) destroyOne(pool, buffers);
  }
}

function currentPool(): PooledBuffers | undefined {
  return (tf.backend() as unknown as { bufferManager?: PooledBuffers }).bufferManager;
}

function destroyOne(pool: PooledBuffers, buffers: GPUBuffer[]): void {
  const buffer = buffers.pop() as GPUBuffer;
  pool.numBytesAllocated -= buffer.size;
  pool.numFreeBuffers -= 1;
  buffer.destroy();
}

let keptLarge = KEPT_LARGE_BYTES;

/** For tests. */
export function setKeptLarge(bytes: number = KEPT_LARGE_BYTES): void {
  keptLarge = bytes;
}

/**
 * Bounds the free buffers of the current backend, which must be a new "webgpu" one, also in the middle of a phase: one that
 * works through stages of different sizes would end with the buffers of all of them. Those whose size was not freed for
 * longest go first. The pool only has buffers that no recorded command uses.
 */
export function installPoolBound(): void {
  const pool = currentPool() as PooledBuffers;
  const release = pool.releaseBuffer.bind(pool);
  pool.releaseBuffer = (buffer, reuse) => {
    release(buffer, reuse);
    if (buffer.size <= SMALL_BUFFER) return;
    const key = `${buffer.size}_${buffer.usage}`;
    const same = pool.freeBuffers.get(key);
    if (same === undefined) return;
    pool.freeBuffers.delete(key);
    pool.freeBuffers.set(key, same);
    const most = Math.max(keptLarge, KEPT_LARGE_SHARE * (pool.numBytesUsed + customBufferBytes()));
    for (const buffers of pool.freeBuffers.values()) {
      if ((buffers[0]?.size ?? 0) <= SMALL_BUFFER) continue;
      while (buffers.length > 0 && pool.numBytesAllocated - pool.numBytesUsed > most) destroyOne(pool, buffers);
      if (pool.numBytesAllocated - pool.numBytesUsed <= most) return;
    }
  };
}
