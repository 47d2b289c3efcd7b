/**
 * Owns the GPU device. We create it and register tfjs' WebGPU backend on it, because stock tfjs requests no additional
 * storage bindings, f16 or subgroups, and because only the owner of the device receives its errors.
 *
 * Errors do not throw in WebGPU: an invalid dispatch voids its whole submit and leaves stale, plausible numbers. So
 * every uncaptured error is recorded here, and `check()` throws the first one.
 */

import { LabError, shortened } from "../../errors.ts";
import { setAdapterClass } from "../forms/active.ts";
import { classOf } from "../forms/built-in.ts";
import { type FormLimits, type ListedUnit, matrixUnit } from "../forms/records.ts";
import { tf } from "../tf.ts";
import { installConcatenate } from "../tfjs/concatenate.ts";
import { installDeterministicMatMul } from "../tfjs/determinism.ts";
import { installElementwise, installFlattened } from "../tfjs/elementwise.ts";
import { installRearrange } from "../tfjs/rearrange.ts";
import { installReductions } from "../tfjs/reductions.ts";
import { watchDevice } from "./counters.ts";
import { setHalfPrograms, setSubgroupSize } from "./custom-op.ts";
import { installPool, writableBuffer } from "./pool.ts";

// Uploads of small tensors. The backend makes and maps a staging buffer for each and ends the open compute pass
// for a copy; a step would do that for hundreds of constants. Here the queue writes them. The order stays correct:
// no recorded but unsubmitted command uses the buffer, and a write runs after everything submitted before it.
//
// Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/uploads.test.ts guards them.

interface TensorData {
  values: tf.TypedArray | null;
  resource: GPUBuffer | null;
  readonly dtype: string;
  readonly shape: readonly number[];
}

interface Uploading {
  readonly queue: GPUQueue;
  readonly tensorMap: { get(id: object): TensorData | undefined };
  uploadToGPU(id: object): void;
}

/** Larger tensors use the stock upload, whose staging buffers are freed with the next submit. */
const SMALL_BYTES = 64 * 2 ** 10;

/** Replaces the uploads of the current backend, which must be a new "webgpu" one. */
function installSmallUploads(): void {
  const backend = tf.backend() as unknown as Uploading;
  const stock = backend.uploadToGPU.bind(backend);
  backend.uploadToGPU = (id) => {
    const data = backend.tensorMap.get(id);
    const words = data === undefined ? undefined : wordsOf(data);
    if (data === undefined || words === undefined) return stock(id);
    const buffer = writableBuffer(words.byteLength);
    backend.queue.writeBuffer(buffer, 0, words);
    // As in the stock backend, the host's values are freed once they are on the GPU.
    data.values = null;
    data.resource = buffer;
  };
}

/** The values to write; undefined if the tensor is on the GPU already, has no values, is large or has another type. */
function wordsOf({ values, resource, dtype, shape }: TensorData): Float32Array | Int32Array | undefined {
  if (resource !== null && resource !== undefined) return undefined;
  const size = tf.util.sizeFromShape([...shape]);
  if (values === null || values === undefined || size === 0 || 4 * size > SMALL_BYTES) return undefined;
  if (dtype === "int32" || dtype === "bool") return values instanceof Int32Array ? values : Int32Array.from(values);
  if (dtype !== "float32") return undefined;
  return values instanceof Float32Array ? values : Float32Array.from(values);
}

export interface GpuReport {
  readonly vendor: string;
  readonly architecture: string;
  readonly description: string;
  /** A software adapter (SwiftShader, llvmpipe): correct, slow. */
  readonly software: boolean;
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** An allocation was refused, or a buffer was larger than the device allows: with less work at once it may succeed. */
export class OutOfMemory extends LabError {}

export interface EngineDevice {
  readonly device: GPUDevice;
  readonly report: GpuReport;
  /** Throws LabError("gpu"), or OutOfMemory, when the device reported an error or was lost since the last call. */
  check(): void;
  /** Like `check`, after the device has reported on every call made so far. */
  checkAll(): Promise<void>;
  /** Takes the out-of-memory report, if that was the first error since the last check; leaves other errors. */
  whyFull(): Promise<OutOfMemory | undefined>;
  /** Resolves with a sentence when the device is lost; never rejects. */
  readonly lost: Promise<string>;
  /**
   * The sentence of a lost device, or undefined. Read after an error, because an error may arrive before the loss is
   * reported.
   */
  whyLost(): Promise<string | undefined>;
  /** Removes the backend and destroys the device. */
  close(): void;
}

/** Not in the standard yet: browsers and Dawn have it where unsafe features are enabled. */
const MATRICES = "chromium-experimental-subgroup-matrix" as GPUFeatureName;

/** Newer than the type definitions: a program may fix the threads of its subgroups. */
const SIZE_CONTROL = "subgroup-size-control" as GPUFeatureName;

/** Half-precision programs read pairs of packed halves so; naga, the compiler of Firefox, lacks it even with `shader-f16`. */
export const HALF_CAST = "enable f16; fn halves(word: u32) -> vec2<f16> { return bitcast<vec2<f16>>(word); }";

const WANTED_FEATURES: readonly GPUFeatureName[] = [
  "shader-f16",
  "subgroups",
  "timestamp-query",
  MATRICES,
  SIZE_CONTROL,
];

const WANTED_LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/**
 * What Chrome says of a read-back after the connection to the GPU process has ended. It then reports no lost device, and
 * every later call is refused as well.
 */
const INSTANCE_GONE = /external Instance reference no longer exists/;

/** Maximum time between an error and the report of the lost device. */
const LOSS_DELAY_MS = 500;

async function compiles(device: GPUDevice, code: string): Promise<boolean> {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return (await device.popErrorScope()) === null;
}

/**
 * Requests adapter and device, registers the tfjs backend "webgpu" on it and makes it current.
 * @throws LabError("gpu") when there is no adapter or no device.
 */
export async function openDevice(gpu: GPU | undefined): Promise<EngineDevice> {
  if (gpu === undefined) {
    throw new LabError(
      "gpu",
      "This browser does not support WebGPU: use a current Chrome to train. The recorded run and stored runs can be viewed here",
    );
  }
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) {
    throw new LabError(
      "gpu",
      "WebGPU found no graphics adapter: switch graphics acceleration on in the browser's settings to train. The recorded run and stored runs can be viewed without it",
    );
  }
  const limits: Record<string, number> = {};
  for (const name of WANTED_LIMITS) limits[name] = adapter.limits[name];
  const features = WANTED_FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredFeatures: features, requiredLimits: limits });
  let failure: LabError | undefined;
  let closing = false;
  const loss = (why: string): string => {
    const sentence = `The GPU device was lost ${why}`;
    if (!closing) failure ??= new LabError("gpu", sentence);
    return sentence;
  };
  let disconnect: (sentence: string) => void = () => undefined;
  const disconnected = new Promise<string>((resolve) => {
    disconnect = resolve;
  });
  watchDevice(device, (reason) => {
    const message = reason instanceof Error ? reason.message : String(reason);
    if (INSTANCE_GONE.test(message)) disconnect(loss(`without a report: ${message}`));
  });

  device.onuncapturederror = ({ error }) => {
    failure ??= failureOf(error);
  };
  const reportedLoss = device.lost.then(({ reason, message }) => loss(`(${reason}): ${message}`));
  const lost = Promise.race([reportedLoss, disconnected]);

  // The backend module registers itself on import when navigator.gpu exists, so the import is here.
  const { WebGPUBackend } = await import("#tensorflow/webgpu");
  if (tf.findBackendFactory("webgpu") !== null) tf.removeBackend("webgpu");
  type AdapterInfo = ConstructorParameters<typeof WebGPUBackend>[1];
  tf.registerBackend("webgpu", () => new WebGPUBackend(device, adapter.info as unknown as AdapterInfo), 3);
  if (!(await tf.setBackend("webgpu"))) throw new LabError("gpu", "TensorFlow.js refused the WebGPU device");
  // Otherwise operations on small inputs in host memory would run in JavaScript, with other rounding.
  tf.env().set("WEBGPU_CPU_FORWARD", false);

  const { vendor, architecture, description } = adapter.info;
  const adapterClass = classOf({ vendor, architecture, description });
  setAdapterClass(adapterClass, limitsOf(device, adapter.info));
  const software = adapterClass === "software";
  const { subgroupMinSize, subgroupMaxSize } = adapter.info;
  const fixed = device.features.has("subgroups") && subgroupMinSize === subgroupMaxSize;
  setSubgroupSize(fixed ? (subgroupMinSize ?? 0) : 0);
  setHalfPrograms(device.features.has("shader-f16") && (await compiles(device, HALF_CAST)));
  replaceKernels();
  installSmallUploads();
  installPool();
  const reported = async (): Promise<void> => {
    device.pushErrorScope("validation");
    // Resolves after all earlier work; a lost device rejects, and `check` reports that.
    await device.popErrorScope().catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  const check = (): void => {
    const found = failure;
    failure = undefined;
    if (found !== undefined) throw found;
  };
  return {
    device,
    report: { vendor, architecture, description, software, features: [...device.features].sort(), limits },
    check,
    async checkAll() {
      await reported();
      check();
    },
    async whyFull() {
      await reported();
      const found = failure;
      if (!(found instanceof OutOfMemory)) return undefined;
      failure = undefined;
      return found;
    },
    lost,
    whyLost: () =>
      Promise.race([lost, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LOSS_DELAY_MS))]),
    close() {
      closing = true;
      if (tf.findBackendFactory("webgpu") !== null) tf.removeBackend("webgpu");
      device.destroy();
    },
  };
}

function limitsOf({ limits, features }: GPUDevice, info: GPUAdapterInfo): FormLimits {
  const { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup, maxStorageBuffersPerShaderStage } = limits;
  const listed = (info as { subgroupMatrixConfigs?: Iterable<ListedUnit> }).subgroupMatrixConfigs ?? [];
  const needed: readonly GPUFeatureName[] = [MATRICES, "shader-f16", "subgroups"];
  const unit = needed.every((feature) => features.has(feature))
    ? matrixUnit(listed, info.subgroupMaxSize ?? 0, features.has(SIZE_CONTROL))
    : undefined;
  return { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup, maxStorageBuffersPerShaderStage, unit };
}

/** Sizes beyond the limits are validation errors, but have the same cause and the same remedy. */
const TOO_LARGE = /exceeds the max buffer size|larger than the maximum storage buffer binding size/i;

/** Whatever the error was, its submit did nothing. */
function failureOf(error: GPUError): LabError {
  if (!(error instanceof GPUOutOfMemoryError) && !TOO_LARGE.test(error.message)) {
    return new LabError("gpu", `The GPU reported an error, so this work did not happen: ${error.message}`);
  }
  return new OutOfMemory(
    "gpu",
    "The GPU ran out of memory, so this work did not happen; lower microRollouts, groupsAtOnce or maxTiles, set " +
      "weightStorage to f16 or less, or turn on gradientCheckpointing; set gpuMemory to see what fits " +
      `(${shortened(error.message.split("\n")[0] as string, 80)})`,
  );
}

let replaced = false;

/** Replaces kernels of the backend once per realm, because they outlive any device. */
function replaceKernels(): void {
  if (replaced) return;
  replaced = true;
  installDeterministicMatMul();
  installRearrange();
  installConcatenate();
  installFlattened();
  installElementwise();
  installReductions();
}

/** A driver that was reset, or a GPU process that was killed, takes a moment to return. */
const TRIES = 5;
const WAIT_MS = 1000;

/** Opens a device in place of a lost one; retries for a few seconds. @throws the error of the last try */
export async function openAgain(open: () => Promise<EngineDevice>): Promise<EngineDevice> {
  for (let tried = 1; ; tried++) {
    try {
      return await open();
    } catch (thrown) {
      if (tried >= TRIES) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}
