/** What the kernels suite measures: shapes of the pocket model, of Sa2VA-1B (D 896, I 4864, V 151,679) and of Hiera-L. */
import { gelu, swiglu } from "../../src/engine/gpu/kernels/activation.ts";
import { attention } from "../../src/engine/gpu/kernels/attention.ts";
import { conv2d } from "../../src/engine/gpu/kernels/conv.ts";
import { headScores } from "../../src/engine/gpu/kernels/head-scores.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { layerNorm, rmsNorm } from "../../src/engine/gpu/kernels/norm.ts";
import { applyRope, ropeTable } from "../../src/engine/gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { JaxFunction } from "./jax.ts";

export interface Case {
  readonly name: string;
  /** Shapes of normal float32 inputs. */
  readonly inputs: readonly (readonly number[])[];
  readonly run: (...inputs: Tensor[]) => Tensor | Tensor[];
  /** Also differentiates the sum of squares with respect to all inputs. */
  readonly gradient?: boolean;
  /** Floating-point operations of a call. */
  readonly flops?: number;
  readonly jax?: JaxFunction;
  /** Shapes jax-js takes instead, where its layout is another. */
  readonly jaxInputs?: readonly (readonly number[])[];
}

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
  };
}

const products = (): Case[] => [
  product("A B", 64, 64, 64, false, false),
  product("A B", 512, 512, 64, false, false),
  product("A Bt", 512, 351, 64, false, true),
  product("At B", 64, 64, 512, true, false),
  product("A Bt", 256, 512, 512, false, true),
  product("A B", 256, 512, 512, false, false),
  product("A Bt", 64, 4864, 896, false, true),
  product("A B, one row", 1, 1024, 1024, false, false),
  product("A Bt, one row", 1, 1024, 1024, false, true),
  product("A B, eight rows", 8, 1024, 1024, false, false),
  product("A Bt, eight rows", 8, 1024, 1024, false, true),
];

function attend(name: string, q: number[], kv: number[], causal: boolean, gradient: boolean, withJax = false): Case {
  const scale = 1 / Math.sqrt(q[3] as number);
  const turned = (shape: number[]): number[] => [0, 2, 1, 3].map((axis) => shape[axis] as number);
  return {
    name: `${name} ${q.join(" x ")}${gradient ? ", with gradient" : ""}`,
    inputs: [q, kv, kv],
    run: (...[a, b, c]) => attention(a as Tensor, b as Tensor, c as Tensor, scale, undefined, causal ? {} : undefined),
    gradient,
    ...(withJax
      ? {
          jaxInputs: [turned(q), turned(kv), turned(kv)],
          jax: (jax, ...[a, b, c]) =>
            jax.nn.dotProductAttention(
              a as NonNullable<typeof a>,
              b as NonNullable<typeof b>,
              c as NonNullable<typeof c>,
              { isCausal: causal, scale },
            ),
        }
      : {}),
  };
}

const attentions = (): Case[] => [
  attend("causal attention", [8, 4, 64, 16], [8, 2, 64, 16], true, false),
  attend("causal attention", [8, 4, 64, 16], [8, 2, 64, 16], true, true),
  attend("causal attention", [1, 2, 1024, 64], [1, 2, 1024, 64], true, false, true),
  attend("causal attention", [1, 2, 1024, 64], [1, 2, 1024, 64], true, true),
  attend("causal attention", [1, 14, 128, 64], [1, 2, 128, 64], true, false),
  attend("attention of one token", [8, 14, 1, 64], [8, 2, 256, 64], false, false),
  attend("Hiera windows", [64, 2, 64, 72], [64, 2, 64, 72], false, false),
  attend("decoder cross attention", [4, 8, 9, 16], [4, 8, 1024, 16], false, true),
];

const VOCABULARY = 151_679;

function scoring(): Case[] {
  const ids = (rows: number): Tensor => tf.tensor1d(new Int32Array(rows).fill(7), "int32");
  const score =
    (chosen: Tensor) =>
    (x?: Tensor): Tensor[] =>
      Object.values(tokenScores(x as Tensor, chosen, 1, 30));
  const chosen: JaxFunction = (jax, x) => {
    const at = jax.numpy.full([16, 1], 7, { dtype: jax.numpy.int32 });
    return jax.numpy.takeAlongAxis(jax.nn.logSoftmax(x as NonNullable<typeof x>, -1), at, 1);
  };
  const fused = ids(64);
  return [
    { name: "token scores 128 x 351, with gradient", inputs: [[128, 351]], run: sum(score(ids(128))), gradient: true },
    { name: `token scores 16 x ${VOCABULARY}`, inputs: [[16, VOCABULARY]], run: score(ids(16)), jax: chosen },
    {
      name: `token scores 4 x ${VOCABULARY}, with gradient`,
      inputs: [[4, VOCABULARY]],
      run: sum(score(ids(4))),
      gradient: true,
    },
    {
      name: "head and token scores, 64 rows of 64, 40000 tokens",
      inputs: [
        [64, 64],
        [40_000, 64],
      ],
      run: (...[h, w]) => Object.values(headScores(h as Tensor, w as Tensor, fused, 1, 30)),
      flops: 2 * 64 * 64 * 40_000,
    },
  ];
}

/** Many results as one, for a gradient. */
function sum(f: (...inputs: Tensor[]) => Tensor[]): (...inputs: Tensor[]) => Tensor {
  return (...inputs) => tf.stack(f(...inputs));
}

function layers(): Case[] {
  const rope = ropeTable([Array.from({ length: 64 }, (_, i) => i)], 16, 10_000);
  const low = (...[x, w, bias, a, b]: Tensor[]): Tensor =>
    linear(x as Tensor, w as Tensor, bias, { a: a as Tensor, b: b as Tensor, scale: 2 });
  const lowInputs = (rows: number): number[][] => [[rows, 64], [176, 64], [176], [16, 64], [176, 16]];
  const norm = (...[x, w]: Tensor[]): Tensor => rmsNorm(x as Tensor, w as Tensor, 1e-6);
  return [
    { name: "low-rank linear, 8 rows", inputs: lowInputs(8), run: low },
    { name: "low-rank linear, 512 rows, with gradient", inputs: lowInputs(512), run: low, gradient: true },
    { name: "RMSNorm 512 x 64", inputs: [[512, 64], [64]], run: norm },
    { name: "RMSNorm 512 x 64, with gradient", inputs: [[512, 64], [64]], run: norm, gradient: true },
    {
      name: "LayerNorm 512 x 64, with gradient",
      inputs: [[512, 64], [64], [64]],
      run: (...[x, w, b]) => layerNorm(x as Tensor, w as Tensor, b as Tensor, 1e-6),
      gradient: true,
    },
    { name: "GELU 90112, with gradient", inputs: [[512, 176]], run: (x) => gelu(x as Tensor), gradient: true },
    {
      name: "SwiGLU 90112, with gradient",
      inputs: [
        [512, 176],
        [512, 176],
      ],
      run: (...[g, u]) => swiglu(g as Tensor, u as Tensor),
      gradient: true,
    },
    { name: "RoPE 8 x 4 x 64 x 16", inputs: [[8, 4, 64, 16]], run: (x) => applyRope(x as Tensor, rope) },
    {
      name: "convolution 7 x 7 by 4, 128 x 128 x 3 to 16",
      inputs: [[1, 128, 128, 3], [16, 3, 7, 7], [16]],
      run: (...[x, w, b]) => conv2d(x as Tensor, w as Tensor, b as Tensor, 4, 3),
    },
  ];
}

/** All cases; what they need besides their inputs is made once and left to the end of the process. */
export function cases(): Case[] {
  return [...products(), ...attentions(), ...scoring(), ...layers()];
}
