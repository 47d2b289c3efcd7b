/**
 * Products with a packed matrix at a shape of Sa2VA-1B. TensorFlow.js has no packed weights, so the others multiply
 * with the same matrix in f32, which takes two to seven times the memory.
 */

import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import { packedLinear, unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { customKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { type JaxArray, jaxPeer, toJax } from "../baselines/jax.ts";
import { tensorBaseline } from "../baselines/tensors.ts";
import type { BenchContext } from "../context.ts";
import type { OpenedCase } from "./opened.ts";

export interface PackedCase {
  readonly name: string;
  readonly storage: WeightStorage;
  readonly rows: number;
  readonly out: number;
  readonly inner: number;
  /** Also the gradient of the input; the matrix is frozen. */
  readonly gradient: boolean;
  readonly arithmetic: Arithmetic;
}

function packed(storage: WeightStorage, rows: number, gradient = false, arithmetic: Arithmetic = "f32"): PackedCase {
  const [out, inner] = [4864, 896];
  const matrix = `B in ${storage}${arithmetic === "f16" ? ", products in f16" : ""}`;
  const name = `matmul A Bt, 1B gate, ${matrix}, ${rows} x ${out} over ${inner}${gradient ? ", with gradient of A" : ""}`;
  return { name, storage, rows, out, inner, gradient, arithmetic };
}

export const PACKED: readonly PackedCase[] = [
  packed("f16", 64),
  packed("q8", 64),
  packed("q4", 64),
  packed("f16", 64, true),
  packed("f16", 64, false, "f16"),
  packed("f16", 64, true, "f16"),
  packed("q4", 8),
];

export async function openPacked(
  { storage, rows, out, inner, gradient, arithmetic }: PackedCase,
  { jax }: Pick<BenchContext, "jax">,
): Promise<OpenedCase> {
  const drawn = tf.randomNormal([out, inner], 0, 1, "float32", 1);
  const matrix = packMatrix(Float32Array.from(await drawn.data()), [out, inner], storage);
  drawn.dispose();
  const [x, dy] = [
    tf.randomNormal([rows, inner], 0, 1, "float32", 2),
    tf.randomNormal([rows, out], 0, 1, "float32", 3),
  ];
  const whole = unpacked(matrix);
  const product = (a: Tensor): Tensor =>
    customKernels()
      ? packedLinear(a, matrix, undefined, undefined, arithmetic)
      : tf.matMul(a as tf.Tensor2D, whole as tf.Tensor2D, false, true);
  const call = (): Tensor[] =>
    tf.tidy(() => {
      if (!gradient) return [product(x)];
      const { value, grads } = tf.engine().gradients(() => product(x), [x], dy);
      return [value, ...grads];
    });
  const arrays: JaxArray[] = [];
  if (jax !== undefined) for (const tensor of [x, whole, dy]) arrays.push(await toJax(jax, tensor));
  const [jaxX, jaxWhole, jaxDy] = arrays as [JaxArray, JaxArray, JaxArray];
  // The function holds the matrix, so that it gets no gradient.
  const jaxjs =
    jax === undefined
      ? undefined
      : jaxPeer(
          jax,
          (library, a) => library.numpy.matmul(a, library.numpy.matrixTranspose(jaxWhole.ref)),
          [jaxX],
          gradient ? jaxDy : undefined,
        );
  return {
    baselines: {
      own: tensorBaseline(true, call),
      stock: tensorBaseline(false, call),
      ...(jaxjs === undefined ? {} : { jaxjs }),
    },
    async dispose() {
      for (const array of arrays) array.dispose();
      tf.dispose([x, dy, whole]);
      matrix.dispose();
    },
  };
}
