import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";

export type Backend = "webgpu" | "cpu";

/** Makes a tensor backend current; the device is undefined for the CPU. */
export async function startBackend(backend: Backend): Promise<EngineDevice | undefined> {
  if (backend === "webgpu") return await openNodeDevice();
  await tf.setBackend("cpu");
  return undefined;
}
