/** WebGPU for Node: Dawn from the npm package `webgpu`, on any Vulkan driver of this machine. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { type EngineDevice, openDevice } from "../../../src/engine/gpu/runtime/device.ts";
import { waitPatiently } from "./patient-waits.ts";

/** Folders of the files that name Vulkan drivers; some file names include the processor. */
const DRIVERS = {
  lavapipe: { name: /^lvp_icd(?:\.\w+)?\.json$/, folders: ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"] },
  swiftshader: {
    name: /^vk_swiftshader_icd\.json$/,
    folders: [
      ...(process.env.CHROMIUM === undefined ? [] : [dirname(process.env.CHROMIUM)]),
      ...["/usr/lib/chromium", "/usr/lib/chromium-browser", "/opt/google/chrome"],
    ],
  },
} as const;

/** Path of a driver's file, or undefined where there is none. */
function driverFile(driver: keyof typeof DRIVERS): string | undefined {
  const { name, folders } = DRIVERS[driver];
  const found = folders.flatMap((folder) => {
    try {
      return readdirSync(folder).flatMap((file) => (name.test(file) ? [join(folder, file)] : []));
    } catch {
      // This distribution has no such folder.
      return [];
    }
  });
  return found[0];
}

/**
 * Opens a device under Node: the system's own Vulkan driver first (a GPU or a recent lavapipe), else the SwiftShader
 * that comes with Chromium. `LAB_VK=lavapipe|swiftshader` chooses.
 * @param options.least with the limits that every device has and no features, as on a modest card; `LAB_LEAST=1` asks
 * for it
 * @param options.patient whether long waits of this process sleep, see patient-waits.ts
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
  const asked = process.env.LAB_VK;
  if (asked !== undefined && !(asked in DRIVERS)) {
    throw badInput(`LAB_VK must be ${Object.keys(DRIVERS).join(" or ")}, not "${asked}"`);
  }
  let gpu = requestGpu(create, asked as keyof typeof DRIVERS | undefined);
  // Dawn offers no adapter for a driver that is too old.
  if (asked === undefined && (await gpu.requestAdapter()) === null && driverFile("swiftshader") !== undefined) {
    gpu = requestGpu(create, "swiftshader");
  }
  if (least) offerLeast(gpu);
  Object.defineProperty(globalThis, "navigator", { value: { gpu, userAgent: "node" }, configurable: true });
  return await openDevice(gpu);
}

/** Limits of every WebGPU device, https://www.w3.org/TR/webgpu/#limits; adapters offer more. */
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

function requestGpu(create: (options: string[]) => GPU, driver: keyof typeof DRIVERS | undefined): GPU {
  if (driver !== undefined) {
    const file = driverFile(driver);
    if (file === undefined)
      throw new LabError("gpu", `There is no ${driver} here: its Vulkan driver file was not found`);
    process.env.VK_ICD_FILENAMES = file;
  }
  // Features that browsers still hide, such as subgroup matrices; a device has them if requested.
  return create(["enable-dawn-features=allow_unsafe_apis"]);
}
