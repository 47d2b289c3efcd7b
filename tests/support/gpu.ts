/** One device for a whole GPU test file: `beforeAll(useGpu)`. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";

let opened: EngineDevice | undefined;

export async function useGpu(): Promise<EngineDevice> {
  opened ??= await openNodeDevice();
  return opened;
}

/** A device for a file whose tests choose programs: after each the usual ones are back, and no error may have been left. */
export function checkedGpu(): void {
  beforeAll(async () => {
    await useGpu();
  });
  afterEach(() => {
    setAdapterKind(true);
    switchCustomKernels(true);
    opened?.check();
  });
}

/** A new device in place of the file's own, which was lost. */
export async function openGpuAgain(): Promise<EngineDevice> {
  opened = await openNodeDevice();
  return opened;
}

const ends: (() => void)[] = [];

/** Calls back after the last test of the file. */
export function atEndOfFile(end: () => void): void {
  ends.push(end);
}

afterAll(() => {
  for (const end of ends) end();
  opened?.check();
  opened?.close();
  opened = undefined;
});
