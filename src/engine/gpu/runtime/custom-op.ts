/**
 * Registers a custom kernel with its gradient, so that tfjs' tape treats it like a stock op
 * (docs/spec/webgpu.md#32-registering-overriding-differentiating).
 */

import { builtInForms, setAdapterClass } from "../forms/active.ts";
import { type Tensor, tf } from "../tf.ts";

type Infos = Readonly<Record<string, tf.TensorInfo>>;
export type Attributes = Readonly<Record<string, number | boolean>>;
type Thunks = Readonly<Record<string, () => Tensor>>;

interface CustomOp {
  /** Name in the kernel registry. */
  readonly name: string;
  /** @param beside values that the caller passes for the forward pass only */
  forward(inputs: Infos, attributes: Attributes, beside?: unknown): tf.TensorInfo[];
  /** Inputs that the gradient needs. They must not be optional. */
  readonly saved?: readonly string[];
  /** Outputs that the gradient needs; they are passed after the saved inputs. */
  readonly savedOutputs?: readonly boolean[];
  /**
   * One thunk per input; only those of inputs that need a gradient are called.
   * @param dys one gradient per output, zeros where the loss does not reach it
   */
  gradient?(dys: readonly Tensor[], saved: readonly Tensor[], attributes: Attributes): Thunks;
}

/**
 * Registers the op. The returned function runs it on the current backend, which must be "webgpu", and returns all
 * outputs.
 */
export function defineOp(
  op: CustomOp,
): (inputs: Readonly<Record<string, Tensor>>, attributes?: Attributes, beside?: unknown) => Tensor[] {
  tf.registerKernel({
    kernelName: op.name,
    backendName: "webgpu",
    kernelFunc({ inputs, attrs }) {
      const { beside, ...attributes } = (attrs ?? {}) as unknown as Attributes & { readonly beside?: unknown };
      return op.forward(inputs as Infos, attributes, beside);
    },
  });
  tf.registerGradient({
    kernelName: op.name,
    inputsToSave: [...(op.saved ?? [])],
    outputsToSave: [...(op.savedOutputs ?? [])],
    gradFunc(dy, saved, attrs) {
      if (op.gradient === undefined) throw new Error(`${op.name} has no gradient`);
      const dys = Array.isArray(dy) ? dy : [dy];
      return { ...op.gradient(dys, saved, attrs as unknown as Attributes) };
    },
  });
  return (inputs, attributes = {}, beside = undefined) => {
    const attrs = { ...attributes, beside } as Parameters<ReturnType<typeof tf.engine>["runKernel"]>[2];
    const outputs = tf.engine().runKernel(op.name, { ...inputs }, attrs) as unknown as Tensor | Tensor[];
    return Array.isArray(outputs) ? outputs : [outputs];
  };
}

/** The tensor of a program's output, owned by the current tidy. */
export function toTensor(info: tf.TensorInfo | undefined): Tensor {
  return tf.engine().makeTensorFromTensorInfo(info as tf.TensorInfo);
}

/** Whether programs support the tensors: float32 with at least one element. Otherwise the stock ops run. */
export function suits(...tensors: readonly (Tensor | undefined)[]): boolean {
  return tensors.every((tensor) => tensor === undefined || (tensor.dtype === "float32" && tensor.size > 0));
}

// Which programs run, ours or the stock ops, and the features of the device that ours use.

let enabled = true;

/** For tests and the bench: uses the built-in forms of software adapters or of a card, whatever the device is. */
export function setAdapterKind(isSoftware: boolean): void {
  setAdapterClass(isSoftware ? "software" : "nvidia");
}

let lanes = 0;

/** Set by device.ts: lanes of a subgroup if their number is fixed, else 0. */
export function setSubgroupSize(size: number): void {
  lanes = size;
}

/** Lanes of every subgroup; 0 without subgroups or with subgroups of varying size. */
export function subgroupSize(): number {
  return lanes;
}

/** Lanes that broadcast loaded rows in products on software adapters: a subgroup of 4 or 8, else 0. */
export function broadcastLanes(): number {
  return builtInForms().lanes === 8 && (lanes === 4 || lanes === 8) ? lanes : 0;
}

let half = false;

/** Set by device.ts: whether the device has `shader-f16`. */
export function setHalfPrograms(has: boolean): void {
  half = has;
}

/** Whether half-precision programs run: the device has `shader-f16`, and its class of adapter gains from it. */
export function halfPrograms(): boolean {
  return half && builtInForms().half;
}

/** Enables or disables all custom kernels. Without them every function uses stock ops, the oracle of the tests. */
export function switchCustomKernels(on: boolean): void {
  enabled = on;
}

/** Whether custom kernels can run: enabled, and the backend is WebGPU. */
export function customKernels(): boolean {
  return enabled && tf.getBackend() === "webgpu";
}
