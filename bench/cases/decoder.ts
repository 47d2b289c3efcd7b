/**
 * Forward, backward and AdamW of a small decoder: width 64, 2 layers, 4 heads, SwiGLU 176, vocabulary 512, 8 × 64
 * tokens (docs/spec/webgpu.md#62-one-training-step), written once with our functions, which stock ops can replace, and
 * once with jax-js.
 */

import { swiglu } from "../../src/engine/gpu/kernels/activation.ts";
import { attention } from "../../src/engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { rmsNorm } from "../../src/engine/gpu/kernels/norm.ts";
import { applyRope, type RopeTable, ropeTable } from "../../src/engine/gpu/kernels/rope.ts";
import { customKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw } from "../../src/engine/rl/optim/optimiser.ts";
import { type JaxArray, type JaxLibrary, settle, toJax } from "../baselines/jax.ts";
import { tensorBaseline } from "../baselines/tensors.ts";
import type { OpenedCase } from "./opened.ts";

const [BATCH, LENGTH, WIDTH, HEADS, INNER, VOCABULARY, LAYERS] = [8, 64, 64, 4, 176, 512, 2];
const DEPTH = WIDTH / HEADS;
const EPS = 1e-6;
const ADAM = { ...ADAM_DEFAULTS, stepSize: 1e-3 };

/** Weights of a layer in order: norm, q, k, v, out, norm, gate, up, down; then the last norm and the head. */
const LAYER: readonly (readonly number[])[] = [
  [WIDTH],
  [WIDTH, WIDTH],
  [WIDTH, WIDTH],
  [WIDTH, WIDTH],
  [WIDTH, WIDTH],
  [WIDTH],
  [INNER, WIDTH],
  [INNER, WIDTH],
  [WIDTH, INNER],
];
const SHAPES = [...Array.from({ length: LAYERS }, () => LAYER).flat(), [WIDTH], [VOCABULARY, WIDTH]];

type Nine<T> = [T, T, T, T, T, T, T, T, T];

function loss(x: Tensor, ids: Tensor, rope: RopeTable, weights: readonly Tensor[]): Tensor {
  const split = (y: Tensor): Tensor => y.reshape([BATCH, LENGTH, HEADS, DEPTH]).transpose([0, 2, 1, 3]);
  let stream = x;
  for (let layer = 0; layer < LAYERS; layer++) {
    const [n1, q, k, v, out, n2, gate, up, down] = weights.slice(9 * layer, 9 * layer + 9) as Nine<Tensor>;
    const h = rmsNorm(stream, n1, EPS);
    const [a, b] = [applyRope(split(linear(h, q)), rope), applyRope(split(linear(h, k)), rope)];
    const mixed = attention(a, b, split(linear(h, v)), 1 / Math.sqrt(DEPTH), undefined, {});
    stream = stream.add(linear(mixed.transpose([0, 2, 1, 3]).reshape([-1, WIDTH]), out));
    const g = rmsNorm(stream, n2, EPS);
    stream = stream.add(linear(swiglu(linear(g, gate), linear(g, up)), down));
  }
  const [norm, head] = weights.slice(-2) as [Tensor, Tensor];
  const logits = linear(rmsNorm(stream, norm, EPS), head);
  return tokenScores(logits, ids, 1, 30).logp.mean().neg();
}

function jaxLoss(
  jax: JaxLibrary,
  x: JaxArray,
  ids: JaxArray,
  cos: JaxArray,
  sin: JaxArray,
  weights: readonly JaxArray[],
): JaxArray {
  const { numpy: np, nn } = jax;
  const times = (y: JaxArray, w: JaxArray): JaxArray => np.matmul(y, np.transpose(w));
  const norm = (y: JaxArray, w: JaxArray): JaxArray => {
    const scale = np.sqrt(np.mean(np.square(y.ref), -1, { keepdims: true }).add(EPS));
    return y.div(scale).mul(w);
  };
  const rotate = (y: JaxArray): JaxArray => {
    const [a, b] = np.split(y.reshape([BATCH, LENGTH, HEADS, DEPTH]), 2, -1) as [JaxArray, JaxArray];
    const first = a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref));
    return np.concatenate([first, b.mul(cos.ref).add(a.mul(sin.ref))], -1);
  };
  let stream = x;
  for (let layer = 0; layer < LAYERS; layer++) {
    const [n1, q, k, v, out, n2, gate, up, down] = weights.slice(9 * layer, 9 * layer + 9) as Nine<JaxArray>;
    const h = norm(stream.ref, n1);
    const [a, b] = [rotate(times(h.ref, q)), rotate(times(h.ref, k))];
    const value = times(h, v).reshape([BATCH, LENGTH, HEADS, DEPTH]);
    const mixed = nn.dotProductAttention(a, b, value, { isCausal: true });
    stream = stream.add(times(mixed.reshape([-1, WIDTH]), out));
    const g = norm(stream.ref, n2);
    stream = stream.add(times(nn.silu(times(g.ref, gate)).mul(times(g, up)), down));
  }
  const [last, head] = weights.slice(-2) as [JaxArray, JaxArray];
  const logp = nn.logSoftmax(times(norm(stream, last), head), -1);
  cos.dispose();
  sin.dispose();
  return np.sum(logp.mul(nn.oneHot(ids, VOCABULARY))).mul(-1 / (BATCH * LENGTH));
}

/** One step of jax-js as a baseline: gradients and Adam in one jitted function, new weights and moments as results. */
async function jaxStep(
  jax: JaxLibrary,
  x: Tensor,
  ids: Tensor,
  rope: RopeTable,
  weights: readonly Tensor[],
): Promise<{ run: (calls: number) => Promise<void>; held: JaxArray[] }> {
  const { numpy: np } = jax;
  const table = async (y: Tensor): Promise<JaxArray> => (await toJax(jax, y)).reshape([1, LENGTH, 1, DEPTH / 2]);
  const fixed = [await toJax(jax, x), await toJax(jax, ids), await table(rope.cos), await table(rope.sin)];
  const held = [...fixed, ...(await Promise.all(weights.map((w) => toJax(jax, w))))];
  const count = weights.length;
  const numbers = Array.from({ length: count }, (_, i) => i + 4);
  const slope = jax.grad(
    (...given: JaxArray[]) => {
      const [a, b, c, d, ...rest] = given as [JaxArray, JaxArray, JaxArray, JaxArray, ...JaxArray[]];
      return jaxLoss(jax, a, b, c, d, rest);
    },
    { argnums: numbers },
  );
  const step = jax.jit((...given: JaxArray[]) => {
    const grads = slope(...given.map((array) => array.ref)) as unknown as JaxArray[];
    const results: JaxArray[] = [];
    given.slice(4).forEach((weight, i) => {
      const grad = grads[i] as JaxArray;
      // Moments begin at 0, so the first update's products with them are left out; the rest costs the same.
      const m = grad.ref.mul(1 - ADAM.beta1).add(weight.ref.mul(ADAM.beta1));
      const v = np
        .square(grad)
        .mul(1 - ADAM.beta2)
        .add(np.square(weight.ref).mul(ADAM.beta2));
      results.push(weight.sub(m.ref.div(np.sqrt(v.ref).add(ADAM.eps)).mul(ADAM.stepSize)), m, v);
    });
    for (const array of given.slice(0, 4)) array.dispose();
    return results;
  });
  const run = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i++) {
      const results = step(...held.map((array) => array.ref)) as JaxArray[];
      // Our side reads nothing back between calls; this wait costs little, because a step takes far longer.
      await settle(results);
      for (const array of results) array.dispose();
    }
  };
  return { run, held };
}

export const DECODER = "decoder 2 x 64, 8 x 64 tokens: forward, backward, AdamW";

/** The step on fresh weights, for every participant. */
export async function openDecoder(jax: JaxLibrary | undefined): Promise<OpenedCase> {
  const x = tf.randomNormal([BATCH * LENGTH, WIDTH], 0, 1, "float32", 1);
  const ids = tf.tensor1d(
    Int32Array.from({ length: BATCH * LENGTH }, (_, i) => (i * 37) % VOCABULARY),
    "int32",
  );
  const rope = ropeTable([Array.from({ length: LENGTH }, (_, i) => i)], DEPTH, 10_000);
  const weights = SHAPES.map((shape, i) => tf.randomNormal([...shape], 0, 0.1, "float32", i + 2));
  const named = (list: readonly Tensor[]): Record<string, Tensor> =>
    Object.fromEntries(list.map((tensor, i) => [String(i), tensor]));
  const params = named(weights);
  // Each baseline keeps its moments.
  const states = { own: AdamState.fresh(params), stock: AdamState.fresh(params) };
  const call = (): Tensor[] => {
    const grads = tf.tidy(() => tf.grads((...given: Tensor[]) => loss(x, ids, rope, given))(weights));
    const state = customKernels() ? states.own : states.stock;
    const next = applyAdamw(params, named(grads), state, ADAM.stepSize, ADAM_DEFAULTS);
    tf.dispose(grads);
    return Object.values(next);
  };
  const peer = jax === undefined ? undefined : await jaxStep(jax, x, ids, rope, weights);
  return {
    baselines: {
      own: tensorBaseline(true, call),
      stock: tensorBaseline(false, call),
      ...(peer === undefined ? {} : { jaxjs: peer.run }),
    },
    async dispose() {
      tf.dispose([x, ids, rope.cos, rope.sin, ...weights]);
      states.own.dispose();
      states.stock.dispose();
      for (const array of peer?.held ?? []) array.dispose();
    },
  };
}
