/** onnxruntime-web as a baseline: its WebGPU provider on the same adapter, a model of one operator, data on the GPU. */
import type * as Ort from "onnxruntime-web/webgpu";
import { LabError } from "../../src/engine/errors.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { Calls } from "../turns.ts";
import { inputName, type OnnxOperator, OUTPUT, onnxModel } from "./onnx.ts";

export type OrtLibrary = typeof Ort;

/** How a case looks to onnxruntime-web. */
export interface OrtFunction extends OnnxOperator {
  /** The operator's inputs from the case's; the case's own when absent. Runs in a tidy; null stands for "not given". */
  readonly inputs?: (...inputs: Tensor[]) => (Tensor | null)[];
  /** Our result in the operator's layout, where that is another. */
  readonly result?: (ours: Tensor) => Tensor;
}

export interface OrtPeer {
  readonly run: Calls;
  /** Values of the result, in the operator's layout. */
  values(): Promise<Float32Array>;
  dispose(): Promise<void>;
}

/**
 * The library with its WebGPU provider ready. For pages: under Node the provider does not start. Called after every
 * other device of the page was made.
 * @param wasmUrl where its WebAssembly part is served
 */
export async function openOrt(wasmUrl: string): Promise<OrtLibrary> {
  const ort = await import("onnxruntime-web/webgpu");
  await withholdNarrowSubgroups();
  ort.env.wasm.wasmPaths = { wasm: wasmUrl };
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  return ort;
}

/** Lanes that the library's attention counts on; with fewer it skips keys and gives wrong results. */
const LANES = 16;

/**
 * Keeps subgroups from the devices that are made from now on where they are narrow, as on software adapters. The
 * library makes its device itself and takes every feature there is.
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

/** A session of the operator on these inputs, copied once; the given tensors stay the caller's. */
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
  const feeds: Record<string, Ort.Tensor> = {};
  const buffers: GPUBuffer[] = [];
  for (const [i, x] of inputs.entries()) {
    if (x === null) continue;
    const values = await x.data();
    if (x.dtype === "int32") {
      // Lengths and the like are read by the processor.
      feeds[inputName(i)] = new ort.Tensor("int32", Int32Array.from(values), [...x.shape]);
      continue;
    }
    const buffer = upload(device, Float32Array.from(values));
    buffers.push(buffer);
    feeds[inputName(i)] = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: [...x.shape] });
  }
  const call = async (): Promise<Ort.Tensor> => {
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
