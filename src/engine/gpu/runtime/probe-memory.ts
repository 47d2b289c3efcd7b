/**
 * Measures how much memory a GPU gives. A browser cannot read it, so buffers are allocated until one is refused, and
 * then freed. A driver that shares the computer's memory gives more than the card has.
 */
import { tf } from "../tf.ts";
import type { EngineDevice } from "./device.ts";
import { trimPool } from "./pool.ts";
import { uploadsDone } from "./program.ts";
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

/** Bytes of an allocation. */
const STEP = 2 ** 28;

/**
 * Bytes that the GPU gives this page: those already allocated, and those given until an allocation was refused. Use it
 * only between runs, because it leaves no memory to others meanwhile.
 * @param most bytes in total at which it stops
 * @param step bytes of an allocation
 * @throws LabError("gpu") when the device was lost
 */
export async function probeMemory({ device, checkAll }: EngineDevice, most: number, step = STEP): Promise<number> {
  trimPool();
  await uploadsDone();
  const buffers: GPUBuffer[] = [];
  const given = (): number => memorySnapshot().gpuBytesAllocated + step * buffers.length;
  try {
    while (given() < most) {
      device.pushErrorScope("validation");
      device.pushErrorScope("out-of-memory");
      const buffer = device.createBuffer({ size: step, usage: GPUBufferUsage.COPY_DST });
      // Drivers reserve memory only when it is first written.
      const encoder = device.createCommandEncoder();
      encoder.clearBuffer(buffer);
      device.queue.submit([encoder.finish()]);
      const errors = [await device.popErrorScope(), await device.popErrorScope()];
      if (errors.some((error) => error !== null)) {
        buffer.destroy();
        break;
      }
      buffers.push(buffer);
      await device.queue.onSubmittedWorkDone();
    }
    await checkAll();
    return given();
  } finally {
    for (const buffer of buffers) buffer.destroy();
    await uploadsDone();
  }
}
