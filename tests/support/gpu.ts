/** One device for all GPU test files of a process, since its programs are compiled once: `beforeAll(useGpu)`. */
import { afterEach, beforeAll } from "vitest";
import { openNodeDevice } from "../../scripts/lib/node-gpu.ts";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";

let opened: EngineDevice | undefined;

export async function useGpu(): Promise<EngineDevice> {
  // A file with a device of its own leaves its backend behind.
  if (opened === undefined || (tf.backend() as { readonly device?: GPUDevice }).device !== opened.device) {
    opened = await openNodeDevice();
  }
  return opened;
}

/** A device for a file whose tests choose programs: after each the usual ones are back, and no error may have been left. */
export function checkedGpu(): void {
  beforeAll(async () => {
    await useGpu();
  });
  afterEach(leftInOrder);
}

/** The usual programs are back. @throws LabError("gpu") for an error that nobody asked for */
export function leftInOrder(): void {
  if (opened === undefined) return;
  setAdapterKind(opened.report.software);
  switchCustomKernels(true);
  opened.check();
}

/** Another device in place of the one of the process, which was lost. */
export async function openGpuAgain(): Promise<EngineDevice> {
  opened = await openNodeDevice();
  return opened;
}
