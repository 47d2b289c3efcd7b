/**
 * Measures how much memory a GPU gives. A browser cannot read it, so buffers are allocated until one is refused, and
 * then freed. A driver that shares the computer's memory gives more than the card has.
 */
import { LabError } from "../../engine/errors.ts";
import type { EngineDevice } from "../../engine/gpu/runtime/device.ts";
import { memorySnapshot } from "../../engine/gpu/runtime/memory-snapshot.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import { uploadsDone } from "../../engine/gpu/runtime/program.ts";
import { MOST_GIGABYTES } from "../../engine/plan/bytes-text.ts";
import { budgetBytes, nominalGigabytes } from "../../engine/plan/fit.ts";

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

/**
 * Nominal memory of a GPU in gigabytes, found by allocating up to MOST_GIGABYTES on an idle device.
 * @throws LabError("gpu") on a software adapter, or when the device was lost
 */
export async function findMemory(device: EngineDevice): Promise<number> {
  if (device.report.software) {
    throw new LabError("gpu", "A software adapter uses the computer's memory, which is not measured");
  }
  return nominalGigabytes(await probeMemory(device, budgetBytes(MOST_GIGABYTES)));
}
