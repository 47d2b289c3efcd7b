/** Which programs run, ours or the stock ops, and the features of the device that ours use. */
import { builtInForms, setAdapterClass } from "../forms/active.ts";
import { tf } from "../tf.ts";

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
