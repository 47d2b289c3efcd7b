/** WebGPU for Node: Dawn from the npm package `webgpu`, on whatever Vulkan driver this machine has. */
import { existsSync } from "node:fs";
import { type EngineDevice, openDevice } from "../../src/engine/gpu/device.ts";
import { waitPatiently } from "./patient-waits.ts";

const LAVAPIPE_ICD = "/usr/share/vulkan/icd.d/lvp_icd.json";
const SWIFTSHADER_ICD = "/usr/lib/chromium/vk_swiftshader_icd.json";

/**
 * Opens a device under Node: the system's own Vulkan driver first (a GPU or a recent lavapipe), else the SwiftShader
 * that comes with Chromium. `LAB_VK=lavapipe|swiftshader` chooses.
 * @param options.least with the limits that every device has and no features, as on a modest card; `LAB_LEAST=1` asks for it
 * @param options.patient whether long waits of this process sleep from now on, see patient-waits.ts
 * @throws LabError("gpu") when no driver is usable.
 */
export async function openNodeDevice({
  least = process.env.LAB_LEAST === "1",
  patient = true,
} = {}): Promise<EngineDevice> {
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  if (patient) waitPatiently(globals);
  Object.assign(globalThis, { self: globalThis });
  let gpu = requestGpu(create, process.env.LAB_VK);

  if (process.env.LAB_VK === undefined && (await gpu.requestAdapter()) === null && existsSync(SWIFTSHADER_ICD)) {
    gpu = requestGpu(create, "swiftshader");
  }
  if (least) offerLeast(gpu);
  Object.defineProperty(globalThis, "navigator", { value: { gpu, userAgent: "node" }, configurable: true });
  return await openDevice(gpu);
}

/** What every WebGPU device has, https://www.w3.org/TR/webgpu/#limits; adapters offer more. */
const LEAST: Readonly<Record<string, number>> = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxStorageBuffersPerShaderStage: 8,
  maxComputeWorkgroupStorageSize: 16_384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65_535,
};

function offerLeast(gpu: GPU): void {
  const request = gpu.requestAdapter.bind(gpu);
  gpu.requestAdapter = async (options) => {
    const adapter = await request(options);
    if (adapter === null) return null;
    Object.defineProperty(adapter, "limits", { value: LEAST });
    Object.defineProperty(adapter, "features", { value: new Set() });
    return adapter;
  };
}

function requestGpu(create: (options: string[]) => GPU, driver: string | undefined): GPU {
  if (driver === "lavapipe") process.env.VK_ICD_FILENAMES = LAVAPIPE_ICD;
  if (driver === "swiftshader") process.env.VK_ICD_FILENAMES = SWIFTSHADER_ICD;
  return create([]);
}
