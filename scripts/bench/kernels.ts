/** Each own kernel against the stock ops it replaces, forward and, where it says so, with the gradient. */
import { gelu, swiglu } from "../../src/engine/gpu/kernels/activation.ts";
import { attention, causalMask } from "../../src/engine/gpu/kernels/attention.ts";
import { conv2d } from "../../src/engine/gpu/kernels/conv.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { layerNorm, rmsNorm } from "../../src/engine/gpu/kernels/norm.ts";
import { adamwUpdate } from "../../src/engine/gpu/kernels/optimiser.ts";
import { applyRope, ropeTable } from "../../src/engine/gpu/kernels/rope.ts";
import { summarise } from "../../src/engine/gpu/kernels/summary.ts";
import { switchOwnKernels } from "../../src/engine/gpu/own-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { type BenchRow, benchRow } from "./measure.ts";

interface Case {
  readonly name: string;
  /** Shapes of normal float32 inputs. */
  readonly inputs: readonly (readonly number[])[];
  readonly run: (...inputs: Tensor[]) => Tensor;
  /** Also differentiates with respect to all inputs. */
  readonly gradient?: boolean;
}

const product =
  (transposeA: boolean, transposeB: boolean) =>
  (...[a, b]: Tensor[]): Tensor =>
    tf.matMul(a as tf.Tensor3D, b as tf.Tensor3D, transposeA, transposeB);

const ADAM = { beta1: 0.9, beta2: 0.999, eps: 1e-8, keep: 1, stepSize: 1e-3, rootScale: 1 };

/** Cases that need a constant tensor make it once and leave it to the end of the process. */
function cases(): Case[] {
  const rope = ropeTable([Array.from({ length: 64 }, (_, i) => i)], 16, 10_000);
  const causal = causalMask(64, 64, 0);
  const ids = tf.tensor1d(new Int32Array(128).fill(7), "int32");
  const low = (...[x, w, bias, a, b]: Tensor[]): Tensor =>
    linear(x as Tensor, w as Tensor, bias, { a: a as Tensor, b: b as Tensor, scale: 2 });
  const lowInputs = (rows: number): number[][] => [[rows, 64], [176, 64], [176], [16, 64], [176, 16]];
  const attend = (...[q, k, v]: Tensor[]): Tensor => attention(q as Tensor, k as Tensor, v as Tensor, 0.25, causal);
  const heads = [
    [8, 4, 64, 16],
    [8, 2, 64, 16],
    [8, 2, 64, 16],
  ];
  const scores = (x?: Tensor): Tensor => tf.stack(Object.values(tokenScores(x as Tensor, ids, 1, 30)));
  const norm = (...[x, w]: Tensor[]): Tensor => rmsNorm(x as Tensor, w as Tensor, 1e-6);
  return [
    {
      name: "matmul A B, 64 x 64 over 64",
      inputs: [
        [1, 64, 64],
        [1, 64, 64],
      ],
      run: product(false, false),
    },
    {
      name: "matmul A B, 512 x 512 over 64",
      inputs: [
        [1, 512, 64],
        [1, 64, 512],
      ],
      run: product(false, false),
    },
    {
      name: "matmul A Bt, 512 x 351 over 64",
      inputs: [
        [1, 512, 64],
        [1, 351, 64],
      ],
      run: product(false, true),
    },
    {
      name: "matmul At B, 64 x 64 over 512",
      inputs: [
        [1, 512, 64],
        [1, 512, 64],
      ],
      run: product(true, false),
    },
    {
      name: "matmul A Bt, 256 x 512 over 512",
      inputs: [
        [1, 256, 512],
        [1, 512, 512],
      ],
      run: product(false, true),
    },
    {
      name: "matmul A Bt, one row, 1024 over 1024",
      inputs: [
        [1, 1, 1024],
        [1, 1024, 1024],
      ],
      run: product(false, true),
    },
    {
      name: "matmul A Bt, 16 of 128 x 127 over 16",
      inputs: [
        [16, 128, 16],
        [16, 127, 16],
      ],
      run: product(false, true),
    },
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
    { name: "causal attention 8 x 4 x 64 x 16", inputs: heads, run: attend },
    { name: "causal attention 8 x 4 x 64 x 16, with gradient", inputs: heads, run: attend, gradient: true },
    { name: "token scores 128 x 351, with gradient", inputs: [[128, 351]], run: scores, gradient: true },
    {
      name: "convolution 7 x 7 by 4, 128 x 128 x 3 to 16",
      inputs: [[1, 128, 128, 3], [16, 3, 7, 7], [16]],
      run: (...[x, w, b]) => conv2d(x as Tensor, w as Tensor, b as Tensor, 4, 3),
    },
    {
      name: "AdamW 16384",
      inputs: [[16384], [16384], [16384]],
      run: (...[p, g, m]) => adamwUpdate(p as Tensor, g as Tensor, m as Tensor, (m as Tensor).square(), ADAM)[0],
    },
    { name: "norm and health of 16384", inputs: [[16384]], run: (x) => summarise([x as Tensor]) },
  ];
}

/** Milliseconds of one call: enough calls to outweigh the read-back that ends them. */
async function time(call: () => Tensor[], calls: number): Promise<number> {
  const start = performance.now();
  let last: Tensor[] = [];
  for (let i = 0; i < calls; i++) {
    tf.dispose(last);
    last = call();
  }
  await Promise.all(last.map((tensor) => tensor.data()));
  tf.dispose(last);
  return (performance.now() - start) / calls;
}

/** @param rounds measurements of each contender, taken in turn */
export async function* kernelRows(adapter: string, rounds: number): AsyncGenerator<BenchRow> {
  for (const { name, inputs, run, gradient } of cases()) {
    const tensors = inputs.map((shape, i) => tf.randomNormal([...shape], 0, 1, "float32", i + 1));
    const call = (): Tensor[] =>
      tf.tidy(() =>
        gradient === true
          ? tf.grads((...given: Tensor[]) =>
              run(...given)
                .square()
                .sum(),
            )(tensors)
          : [run(...tensors)],
      );
    const times: Record<"own" | "stock", number[]> = { own: [], stock: [] };
    for (let round = -1; round < rounds; round++) {
      for (const contender of ["own", "stock"] as const) {
        switchOwnKernels(contender === "own");
        const value = await time(call, gradient === true ? 5 : 10);
        // The first round compiles.
        if (round >= 0) times[contender].push(value);
      }
    }
    switchOwnKernels(true);
    tf.dispose(tensors);
    yield benchRow({ suite: "kernels", case: name, adapter }, times.own, times.stock);
  }
}
