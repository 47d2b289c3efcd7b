/**
 * Runs our WGSL programs between tfjs ops. It touches private members of tfjs-backend-webgpu 4.22.0: a dispatch is
 * recorded into the backend's own encoder, so that it keeps its place among the stock ops, and its buffers come from
 * the backend's pool (docs/spec/webgpu.md#33-recording-directly-into-tfjs-encoder). tests/gpu/kernels-program.test.ts
 * guards the members. A faulty program does not throw here; the device's error handler reports it
 * (gpu/runtime/device.ts).
 */
import { LabError } from "../../errors.ts";
import { tf } from "../tf.ts";
import { compile, type GpuProgram, UniformPages } from "./pipelines.ts";

/** Rows of a tensor that a program uses: its buffer from an aligned byte on. */
export interface Part {
  readonly of: tf.TensorInfo;
  /** Multiples of 256. */
  readonly from: number;
  readonly bytes: number;
}

/** An input of a program: a tensor or a part of it, or a GPU buffer in the program's declared type. */
export type ProgramInput = tf.TensorInfo | Part | GPUBuffer;

export interface OutputSpec {
  readonly shape: readonly number[];
  readonly dtype?: "float32" | "int32" | "bool";
}

/** An existing tensor that the program writes, wholly or in part; nothing else may share its buffer. */
export interface OutputInto {
  readonly into: tf.TensorInfo;
  /** The part that the program uses; all by default. */
  readonly part?: Part;
}

/** Private members of the backend that we use. */
interface Backend {
  readonly device: GPUDevice;
  readonly queue: GPUQueue;
  readonly tensorMap: {
    get(id: object): { resource: GPUBuffer | null; values: tf.TypedArray | null; dtype: string } | undefined;
  };
  readonly commandQueueOwnedIds: WeakSet<object>;
  /** Undefined in other backends, which do not record commands. */
  commandEncoder: GPUCommandEncoder | null | undefined;
  computePassEncoder: GPUComputePassEncoder | null;
  dispatchCountInPass: number;
  makeTensorInfo(shape: number[], dtype: string): tf.TensorInfo;
  uploadToGPU(id: object): void;
  ensureCommandEncoderReady(): void;
  endComputePassEncoder(): void;
  submitQueue(): void;
  disposeData(id: object): boolean;
  incRef(id: object): void;
}

function backend(): Backend {
  return tf.backend() as unknown as Backend;
}

const pages = new WeakMap<Backend, UniformPages>();

/** The uniform pages of a backend; from the first call on, the backend writes them before every submit. */
function pagesOf(b: Backend): UniformPages {
  const known = pages.get(b);
  if (known !== undefined) return known;
  const made = new UniformPages(b.device, b.queue);
  const submit = b.submitQueue.bind(b);
  b.submitQueue = () => {
    made.write();
    submit();
  };
  pages.set(b, made);
  return made;
}

/**
 * Records one dispatch. The outputs are new tensors, owned by the caller.
 * @param grid workgroups per dimension, each at most 65 535
 */
export function runProgram(
  program: GpuProgram,
  inputs: readonly ProgramInput[],
  outputs: readonly (OutputSpec | OutputInto)[],
  uniforms: readonly number[],
  grid: readonly [number, number, number],
): tf.TensorInfo[] {
  const b = backend();
  const made = outputs.map((output) =>
    "into" in output ? output.into : b.makeTensorInfo([...output.shape], output.dtype ?? "float32"),
  );
  if (made.some((info) => tf.util.sizeFromShape(info.shape) === 0)) {
    for (const info of made) {
      const size = tf.util.sizeFromShape(info.shape);
      (b.tensorMap.get(info.dataId) as { values: tf.TypedArray }).values = new Float32Array(size);
    }
    return made;
  }
  const { pipeline, layout } = compile(b.device, program);
  const types = Object.values(program.inputs);
  const converted: tf.TensorInfo[] = [];
  const read = inputs.map((info, i) => {
    if ("of" in info && b.tensorMap.get(info.of.dataId)?.dtype !== "float32") {
      throw new LabError("internal", `${program.name} was given a part of a tensor that is not float32`);
    }
    if (!("dataId" in info)) return info;
    // A cast from int32 or bool to float32 keeps the integer buffer under the new type.
    if (types[i] === "i32" || b.tensorMap.get(info.dataId)?.dtype === "float32") return info;
    const float = toFloats(info);
    converted.push(float);
    return float;
  });
  const written = outputs.map((output, i) =>
    "into" in output && output.part !== undefined ? output.part : (made[i] as tf.TensorInfo),
  );
  const buffers = [...read, ...written].map((given): GPUBufferBinding => {
    if ("of" in given) return { buffer: commandBuffer(b, given.of), offset: given.from, size: given.bytes };
    return { buffer: "dataId" in given ? commandBuffer(b, given) : given };
  });
  for (const output of outputs) if ("into" in output) forgetValues(b, output.into);
  const bound = [pagesOf(b).place(program, uniforms), ...buffers];
  const bindGroup = b.device.createBindGroup({
    layout,
    entries: bound.map((resource, binding) => ({ binding, resource })),
  });
  b.ensureCommandEncoderReady();
  b.computePassEncoder ??= (b.commandEncoder as GPUCommandEncoder).beginComputePass({});
  b.computePassEncoder.setPipeline(pipeline);
  b.computePassEncoder.setBindGroup(0, bindGroup);
  b.computePassEncoder.dispatchWorkgroups(...grid);
  b.dispatchCountInPass++;
  if (b.dispatchCountInPass >= tf.env().getNumber("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE")) {
    b.endComputePassEncoder();
    b.submitQueue();
  }
  for (const info of converted) release(info);
  return made;
}

/** The buffer of a tensor that a recorded command uses; disposing of the tensor waits for the submit. */
function commandBuffer(b: Backend, info: tf.TensorInfo): GPUBuffer {
  b.uploadToGPU(info.dataId);
  b.commandQueueOwnedIds.add(info.dataId);
  return b.tensorMap.get(info.dataId)?.resource as GPUBuffer;
}

/** A read-back stores the values with the tensor; they become outdated when the tensor is written in place. */
function forgetValues(b: Backend, info: tf.TensorInfo): void {
  const entry = b.tensorMap.get(info.dataId);
  if (entry !== undefined) entry.values = null;
}

/** A copy of a part of a float32 tensor into a part of another one. Positions and counts are in elements. */
export interface BufferCopy {
  readonly from: tf.TensorInfo;
  readonly fromAt: number;
  readonly into: tf.TensorInfo;
  readonly intoAt: number;
  readonly count: number;
}

/** Records copies in order; nothing else may share the destination buffers. */
export function copyBuffers(copies: readonly BufferCopy[]): void {
  const b = backend();
  const converted: tf.TensorInfo[] = [];
  const ready = copies
    .filter(({ count }) => count > 0)
    .map((copy) => {
      if (b.tensorMap.get(copy.from.dataId)?.dtype === "float32") return copy;
      const from = toFloats(copy.from);
      converted.push(from);
      return { ...copy, from };
    });
  if (ready.length === 0) return;
  const buffers = ready.map(({ from, into }) => [commandBuffer(b, from), commandBuffer(b, into)] as const);
  b.ensureCommandEncoderReady();
  b.endComputePassEncoder();
  const encoder = b.commandEncoder as GPUCommandEncoder;
  ready.forEach(({ fromAt, into, intoAt, count }, i) => {
    const [source, target] = buffers[i] as readonly [GPUBuffer, GPUBuffer];
    encoder.copyBufferToBuffer(source, 4 * fromAt, target, 4 * intoAt, 4 * count);
    forgetValues(b, into);
  });
  for (const info of converted) release(info);
}

const TO_FLOATS: GpuProgram = {
  name: "lab-to-floats",
  inputs: { x: "i32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32" },
  workgroup: [64, 1],
  body: `
    let i = (group.y * groups.x + group.x) * 64u + local.x;
    if (i < u.size) { result[i] = f32(x[i]); }`,
};

function toFloats(info: tf.TensorInfo): tf.TensorInfo {
  const size = tf.util.sizeFromShape(info.shape);
  const grid = flatGrid(Math.ceil(size / 64));
  return runProgram(TO_FLOATS, [info], [{ shape: info.shape }], [size], grid)[0] as tf.TensorInfo;
}

/** The device of the current backend. */
export function backendDevice(): GPUDevice {
  return backend().device;
}

/**
 * Submits the recorded commands and returns the buffer of a float32 tensor, for dispatches outside the backend's
 * encoder. The buffer is valid as long as the tensor.
 */
export function bufferOf(info: tf.TensorInfo): GPUBuffer {
  const b = backend();
  const float = b.tensorMap.get(info.dataId)?.dtype === "float32";
  if (!float) throw new LabError("internal", `A buffer of ${info.dtype} was requested where float32 is read`);
  b.uploadToGPU(info.dataId);
  return b.tensorMap.get(info.dataId)?.resource as GPUBuffer;
}

/** Submits everything recorded so far. Later command buffers run after it, and the submit frees staging buffers. */
export function flushBackend(): void {
  const b = backend();
  if (b.commandEncoder == null) return;
  b.endComputePassEncoder();
  b.submitQueue();
}

/** A float32 buffer with undefined contents, to be written with `into`. */
export function unwritten(shape: readonly number[]): tf.TensorInfo {
  return backend().makeTensorInfo([...shape], "float32");
}

/** Disposes of an intermediate of a kernel. */
export function release(info: tf.TensorInfo): void {
  backend().disposeData(info.dataId);
}

/** A kernel output in another shape with the same data; no copy. */
export function shareData(info: tf.TensorInfo, shape: readonly number[]): tf.TensorInfo {
  backend().incRef(info.dataId);
  return { dataId: info.dataId, shape: [...shape], dtype: info.dtype };
}

/** Uploads a tensor's values and frees the host copy; tfjs itself keeps it until a program first reads the tensor. */
export function uploadNow(info: tf.TensorInfo): void {
  backend().uploadToGPU(info.dataId);
}

/** Resolves when the GPU has received everything written so far; prevents uploads from accumulating in host memory. */
export async function uploadsDone(): Promise<void> {
  flushBackend();
  await backend().queue.onSubmittedWorkDone();
}

/** Maximum workgroups per dimension on every device. */
export const MAX_GROUPS = 65_535;

/** Grid for `count` workgroups, folded into two dimensions; the program computes `group.y * groups.x + group.x`. */
export function flatGrid(count: number): [number, number, number] {
  if (count <= MAX_GROUPS) return [Math.max(1, count), 1, 1];
  const rows = Math.ceil(count / MAX_GROUPS);
  return [Math.ceil(count / rows), rows, 1];
}
