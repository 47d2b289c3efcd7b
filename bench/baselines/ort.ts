/** onnxruntime-web as a baseline: its WebGPU provider on the same adapter, a model of one operator, data on the GPU. */
import { LabError } from "../../src/engine/errors.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { Calls } from "../turns.ts";
import { inputName, type OnnxOperator, OUTPUT, onnxModel } from "./onnx.ts";

/** What is used of the library, whose own types are not installed with the lab. */
export interface OrtLibrary {
  readonly env: {
    readonly wasm: { wasmPaths: { wasm: string }; numThreads: number };
    logLevel: "error";
    readonly webgpu: { readonly device: Promise<GPUDevice> };
  };
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: { executionProviders: readonly ["webgpu"]; preferredOutputLocation: "gpu-buffer" },
    ): Promise<{
      run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
      release(): Promise<void>;
    }>;
  };
  readonly Tensor: {
    new (type: "int32", data: Int32Array, dims: number[]): OrtTensor;
    fromGpuBuffer(buffer: GPUBuffer, options: { dataType: "float32"; dims: number[] }): OrtTensor;
  };
}

interface OrtTensor {
  /** Reads the values back. */
  getData(): Promise<unknown>;
  dispose(): void;
}

/** A case in the form for onnxruntime-web. */
export interface OrtFunction extends OnnxOperator {
  /**
   * Converts the case's inputs to the operator's; unchanged when absent. Runs in a tidy; null stands for an absent
   * input.
   */
  readonly inputs?: (...inputs: Tensor[]) => (Tensor | null)[];
  /** Our result in the operator's layout, if that differs. */
  readonly result?: (ours: Tensor) => Tensor;
}

export interface OrtPeer {
  readonly run: Calls;
  /** Values of the result, in the operator's layout. */
  values(): Promise<Float32Array>;
  dispose(): Promise<void>;
}

/**
 * The library with its WebGPU provider ready. For pages only: under Node the provider does not start. Call it after all
 * other devices of the page were created.
 * @param ort its module, which only pages import
 * @param wasmUrl address of its WebAssembly part
 */
export async function openOrt(ort: OrtLibrary, wasmUrl: string): Promise<OrtLibrary> {
  await withholdNarrowSubgroups();
  ort.env.wasm.wasmPaths = { wasm: wasmUrl };
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  return ort;
}

/** Lanes that the library's attention requires; with fewer it skips keys and gives wrong results. */
const LANES = 16;

/**
 * Removes subgroups from devices that are created from now on if subgroups are narrow, as on software adapters. The
 * library creates its device itself and requests every available feature.
 */
async function withholdNarrowSubgroups(): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null || (adapter.info.subgroupMinSize ?? LANES) >= LANES) return;
  const kind = Object.getPrototypeOf(adapter) as GPUAdapter;
  const original = kind.requestDevice;
  kind.requestDevice = function (this: GPUAdapter, descriptor) {
    const requiredFeatures = [...(descriptor?.requiredFeatures ?? [])].filter((name) => !name.startsWith("subgroup"));
    return original.call(this, { ...descriptor, requiredFeatures });
  };
}

/** A session of the operator on these inputs, copied once; the caller still owns the given tensors. */
export async function ortPeer(
  ort: OrtLibrary,
  operator: OnnxOperator,
  inputs: readonly (Tensor | null)[],
): Promise<OrtPeer> {
  const described = inputs.map((x) =>
    x === null ? null : { shape: x.shape, dtype: x.dtype === "int32" ? ("int32" as const) : ("float32" as const) },
  );
  const session = await ort.InferenceSession.create(onnxModel(operator, described), {
    executionProviders: ["webgpu"],
    preferredOutputLocation: "gpu-buffer",
  });
  const device = await ort.env.webgpu.device;
  const feeds: Record<string, OrtTensor> = {};
  const buffers: GPUBuffer[] = [];
  for (const [i, x] of inputs.entries()) {
    if (x === null) continue;
    const values = await x.data();
    if (x.dtype === "int32") {
      // Lengths and similar inputs are read by the processor.
      feeds[inputName(i)] = new ort.Tensor("int32", Int32Array.from(values), [...x.shape]);
      continue;
    }
    const buffer = upload(device, Float32Array.from(values));
    buffers.push(buffer);
    feeds[inputName(i)] = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: [...x.shape] });
  }
  const call = async (): Promise<OrtTensor> => {
    const result = (await session.run(feeds))[OUTPUT];
    if (result === undefined) throw new LabError("internal", `onnxruntime-web gave no result of ${operator.type}`);
    return result;
  };
  return {
    run: async (calls) => {
      for (let i = 1; i <= calls; i++) {
        const result = await call();
        if (i === calls) await result.getData();
        result.dispose();
      }
    },
    async values() {
      const result = await call();
      const data = (await result.getData()) as Float32Array;
      result.dispose();
      return data;
    },
    async dispose() {
      await session.release();
      for (const buffer of buffers) buffer.destroy();
    },
  };
}

function upload(device: GPUDevice, values: Float32Array<ArrayBuffer>): GPUBuffer {
  const size = Math.ceil(values.byteLength / 16) * 16;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size, usage });
  device.queue.writeBuffer(buffer, 0, values);
  return buffer;
}
