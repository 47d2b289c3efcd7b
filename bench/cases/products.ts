/** Matrix products at shapes of the pocket model, of Sa2VA-1B (D 896, I 4864) and of Hiera-L's stages. */
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Case } from "./case.ts";

function product(label: string, m: number, n: number, k: number, transposeA: boolean, transposeB: boolean): Case {
  return {
    name: `matmul ${label}, ${m} x ${n} over ${k}`,
    inputs: [transposeA ? [1, k, m] : [1, m, k], transposeB ? [1, n, k] : [1, k, n]],
    run: (...[a, b]) => tf.matMul(a as tf.Tensor3D, b as tf.Tensor3D, transposeA, transposeB),
    flops: 2 * m * n * k,
    jax(jax, ...[a, b]) {
      const turn = (x: typeof a, turned: boolean): typeof a =>
        turned && x !== undefined ? jax.numpy.matrixTranspose(x) : x;
      return jax.numpy.matmul(
        turn(a, transposeA) as NonNullable<typeof a>,
        turn(b, transposeB) as NonNullable<typeof b>,
      );
    },
    ort:
      transposeA || transposeB
        ? {
            type: "Gemm",
            ints: { transA: Number(transposeA), transB: Number(transposeB) },
            inputs: (...given) => given.map((x) => x.squeeze([0])),
          }
        : { type: "MatMul" },
  };
}

export function products(): Case[] {
  return [
    product("A B", 64, 64, 64, false, false),
    product("A B", 512, 512, 64, false, false),
    product("A Bt", 512, 351, 64, false, true),
    product("At B", 64, 64, 512, true, false),
    product("A Bt", 256, 512, 512, false, true),
    product("A B", 256, 512, 512, false, false),
    product("A B, one row", 1, 1024, 1024, false, false),
    product("A Bt, one row", 1, 1024, 1024, false, true),
    product("A B, eight rows", 8, 1024, 1024, false, false),
    product("A Bt, eight rows", 8, 1024, 1024, false, true),
    product("A Bt, 1B gate", 64, 4864, 896, false, true),
    product("A Bt, 1B down", 64, 896, 4864, false, true),
    product("A B, 1B gradient of gate", 64, 896, 4864, false, false),
    product("A Bt, 1B down, one row", 1, 896, 4864, false, true),
    product("A Bt, Hiera stage 1", 1024, 576, 144, false, true),
    product("A Bt, Hiera stage 3", 196, 2304, 576, false, true),
  ];
}

/** The largest ones, measured last and only if time remains. */
export function largeProducts(): Case[] {
  return [
    product("A Bt, 1B query of 1024", 1024, 896, 896, false, true),
    product("A Bt, 1B gate of 1024", 1024, 4864, 896, false, true),
  ];
}

/** x wᵀ + b with a low-rank pair, as in every adapted layer. */
export function lowRank(): Case[] {
  const run = (...[x, w, bias, a, b]: Tensor[]): Tensor =>
    linear(x as Tensor, w as Tensor, bias, { a: a as Tensor, b: b as Tensor, scale: 2 });
  const layer = (rows: number, outSize: number, inSize: number, rank: number): Omit<Case, "name"> => ({
    inputs: [[rows, inSize], [outSize, inSize], [outSize], [rank, inSize], [outSize, rank]],
    run,
    flops: 2 * rows * (outSize * inSize + rank * (outSize + inSize)),
    jax(jax, ...given) {
      const [x, w, bias, a, b] = given as [(typeof given)[0], ...typeof given];
      const times = (y: typeof x, m: (typeof given)[0] | undefined): typeof x =>
        jax.numpy.matmul(y, jax.numpy.transpose(m as typeof x));
      const low = times(times(x.ref, a), b).mul(2);
      return times(x, w)
        .add(bias as typeof x)
        .add(low);
    },
  });
  return [
    { name: "low-rank linear, 8 rows of 64 to 176, rank 16", ...layer(8, 176, 64, 16) },
    {
      name: "low-rank linear, 512 rows of 64 to 176, rank 16, with gradient",
      ...layer(512, 176, 64, 16),
      gradient: true,
    },
    { name: "low-rank linear, 1B, 64 rows of 896 to 896, rank 128", ...layer(64, 896, 896, 128) },
  ];
}
