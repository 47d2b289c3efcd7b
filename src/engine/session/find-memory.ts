/** The memory of a GPU, for the setting “GPU memory”. */
import { LabError } from "../errors.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { probeMemory } from "../gpu/runtime/probe-memory.ts";
import { budgetBytes, nominalGigabytes } from "../plan/fit.ts";

/** Memory of the largest preset: more is not asked for. */
const MOST_GIGABYTES = 24;

/**
 * Gigabytes of nominal memory, found by allocating up to 24 of them on an idle device.
 * @throws LabError("gpu") on a software adapter, or when the device was lost
 */
export async function findMemory(device: EngineDevice): Promise<number> {
  if (device.report.software) {
    throw new LabError("gpu", "A software adapter uses the computer's memory, which is not measured");
  }
  return nominalGigabytes(await probeMemory(device, budgetBytes(MOST_GIGABYTES)));
}
