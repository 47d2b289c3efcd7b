/** Which programs run: ours or the stock ops, and ours for which kind of adapter. */
import { tf } from "../tf.ts";

let enabled = true;
let software = false;

/** Told by the owner of the device. */
export function setAdapterKind(isSoftware: boolean): void {
  software = isSoftware;
}

/**
 * True on SwiftShader and llvmpipe, where barriers are dear and registers are cheap (docs/spec/webgpu.md#61-kernels).
 */
export function onSoftwareAdapter(): boolean {
  return software;
}

let lanes = 0;

/** Told by the owner of the device: lanes of a subgroup where the device has them and their number is fixed, else 0. */
export function setSubgroupSize(size: number): void {
  lanes = size;
}

/** Lanes of every subgroup, 0 where subgroups are missing or of varying size. */
export function subgroupSize(): number {
  return lanes;
}

/** Lanes that hand loaded rows round in products on software adapters: all of a subgroup of 4 or 8, else 0. */
export function broadcastLanes(): number {
  return lanes === 4 || lanes === 8 ? lanes : 0;
}

let half = false;

/** Told by the owner of the device: whether programs may compute in half precision. */
export function setHalfPrograms(has: boolean): void {
  half = has;
}

/** True on cards with `shader-f16`; programs of software adapters compute in f32 only. */
export function halfPrograms(): boolean {
  return half && !software;
}

/** Switches all custom kernels; with `false` every function uses stock ops, the oracle of the tests. */
export function switchCustomKernels(on: boolean): void {
  enabled = on;
}

/** Whether custom kernels can run: switched on, with the WebGPU backend. */
export function customKernels(): boolean {
  return enabled && tf.getBackend() === "webgpu";
}
