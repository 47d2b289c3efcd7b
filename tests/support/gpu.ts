/** One device for a whole GPU test file: `beforeAll(useGpu)`. */
import { afterAll } from "vitest";
import { openNodeDevice } from "../../scripts/lib/node-gpu.ts";
import type { EngineDevice } from "../../src/engine/gpu/device.ts";

let opened: EngineDevice | undefined;

export async function useGpu(): Promise<EngineDevice> {
  opened ??= await openNodeDevice();
  return opened;
}

/** Another device in place of the one of the file, which was lost. */
export async function openGpuAgain(): Promise<EngineDevice> {
  opened = await openNodeDevice();
  return opened;
}

afterAll(() => {
  opened?.check();
  opened?.close();
  opened = undefined;
});
