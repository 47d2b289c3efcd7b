/**
 * Whole sets of trainable tensors. Ownership rule of this folder: a function never disposes its arguments; a set that
 * it returns is new and belongs to the caller, who frees the old one with `disposeSet`.
 */
import { LabError } from "../../errors.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";

/** A new set with `change` applied to every tensor; `change` runs in its own tidy. */
export function mapSet(set: ParameterSet, change: (tensor: Tensor, name: string) => Tensor): ParameterSet {
  const result: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(set)) result[name] = tf.tidy(() => change(tensor, name));
  return result;
}

/** The gradients of a tape by name; it returns none for a tensor that the loss does not reach. */
export function reachedGradients(
  names: readonly string[],
  grads: readonly (Tensor | null | undefined)[],
): Record<string, Tensor> {
  return Object.fromEntries(names.flatMap((name, at) => (grads[at] == null ? [] : [[name, grads[at]]])));
}

/** An independent copy. tfjs tensors are immutable, so nothing is moved on the device. */
export function copySet(set: ParameterSet): ParameterSet {
  return mapSet(set, (tensor) => tensor.clone());
}

/** Zeros of the same shapes. */
export function zerosSet(set: ParameterSet): ParameterSet {
  return mapSet(set, (tensor) => tf.zerosLike(tensor));
}

/** Disposes every tensor of a set. */
export function disposeSet(set: ParameterSet): void {
  tf.dispose(Object.values(set));
}

/** The tensor of that name. @throws LabError("internal") when the sets do not belong together */
export function member(set: ParameterSet, name: string): Tensor {
  const tensor = set[name];
  if (tensor === undefined)
    throw new LabError("internal", `The parameter set has no tensor "${name}"`, { subject: name });
  return tensor;
}
