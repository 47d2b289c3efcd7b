/** WebGPU for Node: Dawn from the npm package `webgpu`, on whatever Vulkan driver this machine has. */
import { existsSync } from "node:fs";
import { type EngineDevice, openDevice } from "../../src/engine/gpu/device.ts";

const LAVAPIPE_ICD = "/usr/share/vulkan/icd.d/lvp_icd.json";
const SWIFTSHADER_ICD = "/usr/lib/chromium/vk_swiftshader_icd.json";

/**
 * Opens a device under Node: the system's own Vulkan driver first (a GPU or a recent lavapipe), else the SwiftShader
 * that comes with Chromium. `LAB_VK=lavapipe|swiftshader` chooses.
 * @throws LabError("gpu") when no driver is usable.
 */
export async function openNodeDevice(): Promise<EngineDevice> {
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  Object.assign(globalThis, { self: globalThis });
  let gpu = requestGpu(create, process.env.LAB_VK);
  if (process.env.LAB_VK === undefined && (await gpu.requestAdapter()) === null && existsSync(SWIFTSHADER_ICD)) {
    gpu = requestGpu(create, "swiftshader");
  }
  Object.defineProperty(globalThis, "navigator", { value: { gpu, userAgent: "node" }, configurable: true });
  return await openDevice(gpu);
}

function requestGpu(create: (options: string[]) => GPU, driver: string | undefined): GPU {
  if (driver === "lavapipe") process.env.VK_ICD_FILENAMES = LAVAPIPE_ICD;
  if (driver === "swiftshader") process.env.VK_ICD_FILENAMES = SWIFTSHADER_ICD;
  return create([]);
}
