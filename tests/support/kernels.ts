/** Our kernels against the stock ops: values, gradients and bits. */
import { expect } from "vitest";
import { type LowRank, linear } from "../../src/engine/gpu/kernels/linear.ts";
import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import { packedLinear } from "../../src/engine/gpu/packed/linear.ts";
import type { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { expectSameBits } from "./same-bits.ts";

/** Bound of the distance between one form of a kernel and another, or a reference. */
export const FORM_TOLERANCE = 5e-5;

/** Repeatable normal numbers times `scale`. */
export function randomTensor(shape: readonly number[], seed: number, scale = 1): Tensor {
  return tf.tidy(() => tf.randomNormal([...shape], 0, 1, "float32", seed).mul(scale));
}

/** The value of `f` and the gradients of its inputs; every element of the value has another weight. */
export async function valuesAndGradients(
  f: (...inputs: Tensor[]) => Tensor,
  inputs: readonly Tensor[],
  constants: readonly Tensor[],
): Promise<Float32Array[]> {
  const tensors = tf.tidy(() => {
    const weighted = (...given: Tensor[]): Tensor => {
      const y = f(...given, ...constants);
      // Every element of the result gets another weight, so that no gradient cancels; a GPU's sine would be inexact.
      const weights = tf.tensor(
        Float32Array.from({ length: y.size }, (_, i) => Math.sin(0.7 * i) + 0.3),
        y.shape,
      );
      return y.mul(weights).sum();
    };
    return [f(...inputs, ...constants), ...tf.grads(weighted)([...inputs])];
  });
  const arrays: Float32Array[] = [];
  for (const tensor of tensors) arrays.push((await tensor.data()) as Float32Array);
  tf.dispose(tensors);
  return arrays;
}

/** Copies of tensors on the CPU, where stock programs need no compiling and share no driver with ours. */
export async function onCpu<T>(
  tensors: readonly Tensor[],
  work: (copies: readonly Tensor[]) => Promise<T>,
): Promise<T> {
  const backend = tf.getBackend();
  const values = await Promise.all(tensors.map(async (own) => ({ own, data: await own.data() })));
  await tf.setBackend("cpu");
  const copies = values.map(({ own, data }) => tf.tensor(data, own.shape, own.dtype));
  try {
    return await work(copies);
  } finally {
    tf.dispose(copies);
    await tf.setBackend(backend);
  }
}

/** Largest difference, relative to the largest expected element or to `least` where that is more. */
export function distance(found: Float32Array, expected: Float32Array, least = 1e-30): number {
  expect(found.length).toBe(expected.length);
  let [worst, size] = [0, least];
  expected.forEach((value, i) => {
    const error = Math.abs((found[i] as number) - value);
    worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
    size = Math.max(size, Math.abs(value));
  });
  return worst / size;
}

/**
 * Own values and gradients equal the stock ones within `tolerance` of the largest element, repeat bit for bit, leave no
 * tensor behind, and do so in the form for software adapters as in the form for GPUs.
 * @param f runs on the CPU with copies of its arguments, so it may hold no tensor
 * @param least what counts as the largest element where all are smaller: of the value and every gradient, or of each
 * @param constants handed to `f` behind its inputs; no gradient is asked of them
 * @param forms of the programs: for software adapters (true), for GPUs (false)
 */
export async function expectLikeStock(
  f: (...inputs: Tensor[]) => Tensor,
  inputs: readonly Tensor[],
  tolerance = 2e-5,
  least: number | readonly number[] = 1e-30,
  constants: readonly Tensor[] = [],
  forms: readonly boolean[] = [true, false],
): Promise<void> {
  const leastOf = (i: number): number | undefined => (typeof least === "number" ? least : least[i]);
  const before = tf.memory().numTensors;
  const count = inputs.length;
  try {
    switchCustomKernels(false);
    const expected = await onCpu([...inputs, ...constants], (copies) =>
      valuesAndGradients(f, copies.slice(0, count), copies.slice(count)),
    );
    switchCustomKernels(true);
    for (const software of forms) {
      setAdapterKind(software);
      const found = await valuesAndGradients(f, inputs, constants);
      const again = await valuesAndGradients(f, inputs, constants);
      found.forEach((array, i) => {
        const what = `${software ? "software" : "GPU"} form, ${i === 0 ? "value" : `gradient ${i}`}`;
        expect(distance(array, expected[i] as Float32Array, leastOf(i)), what).toBeLessThan(tolerance);
        expectSameBits(again[i] as Float32Array, array, what);
      });
    }
  } finally {
    switchCustomKernels(true);
    setAdapterKind(true);
    tf.dispose([...inputs]);
  }
  expect(tf.memory().numTensors).toBe(before - count);
}

/** A product with a packed matrix; on the CPU the one with the plain matrix that it stands for. */
export function packedOrPlain(
  matrix: PackedMatrix,
  [x, plain, bias]: readonly [Tensor, Tensor, Tensor | undefined],
  lora?: LowRank,
  arithmetic?: Arithmetic,
): Tensor {
  return tf.getBackend() === "cpu" ? linear(x, plain, bias, lora) : packedLinear(x, matrix, bias, lora, arithmetic);
}
