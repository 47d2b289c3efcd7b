import { MAX_BATCH } from "../../matmul/matmul-program.ts";
import { type RowProgram, runRows } from "../../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../../runtime/custom-op.ts";
import { u32s } from "../../runtime/pipelines.ts";
import { type Tensor, tf } from "../../tf.ts";
import { rowsOf } from "../norm.ts";
import { attentionInBlocks } from "./attention-blocks.ts";
import { MASK_FIELDS, maskStrides, SCORE } from "./attention-rows.ts";
import { formFor, sizesOf } from "./attention-runs.ts";

// The middle part of attention in one dispatch forward and one backward: scale, mask and softmax of the score rows.

/**
 * softmax(scale · products + mask) over the last axis.
 * @param products q kᵀ whose rows run over batch, query head and query position, [..., Tk]
 * @param mask broadcastable to [B, heads, length, Tk]; not differentiated
 * @returns same shape as `products`
 */
function maskedSoftmax(products: Tensor, heads: number, length: number, scale: number, mask?: Tensor): Tensor {
  const attributes = { heads, length, scale, masked: mask !== undefined };
  const given = mask === undefined ? { products } : { products, mask };
  return customSoftmax(given, attributes)[0] as Tensor;
}

const SOFTMAX: RowProgram = {
  name: "lab-masked-softmax",
  inputs: { x: "f32", mask: "f32" },
  outputs: { result: "f32" },
  uniforms: {
    ...u32s("rows width heads length masked"),
    ...MASK_FIELDS,
  },
  header: SCORE,
  body: `
    let base = row * u.width;
    let above = row / u.length;
    let m = (above / u.heads) * u.maskBatch + (above % u.heads) * u.maskHead + (row % u.length) * u.maskRow;
    var top = -3.0e38;
    for (var i = first; i < u.width; i += step) { top = max(top, score(x[base + i], m + i * u.maskKey)); }
    top = largest(top, lane);
    var total = 0.0;
    for (var i = first; i < u.width; i += step) {
      let e = exp(score(x[base + i], m + i * u.maskKey) - top);
      result[base + i] = e;
      total += e;
    }
    let inverse = 1.0 / sum(total, lane);
    for (var i = first; i < u.width; i += step) { result[base + i] *= inverse; }`,
};

const SOFTMAX_GRAD: RowProgram = {
  name: "lab-softmax-grad",
  inputs: { dy: "f32", y: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32", scale: "f32" },
  body: `
    let base = row * u.width;
    var along = 0.0;
    for (var i = first; i < u.width; i += step) { along += dy[base + i] * y[base + i]; }
    along = sum(along, lane);
    for (var i = first; i < u.width; i += step) {
      result[base + i] = u.scale * y[base + i] * (dy[base + i] - along);
    }`,
};

const customSoftmax = defineOp({
  name: "LabMaskedSoftmax",
  savedOutputs: [true],
  forward(inputs, { heads, length, scale, masked }) {
    const products = inputs.products as tf.TensorInfo;
    const mask = inputs.mask ?? products;
    const [rows, width] = rowsOf(products);
    const strides = masked === true ? maskStrides(mask) : [0, 0, 0, 0];
    const uniforms = [heads as number, length as number, Number(masked), ...strides, scale as number];
    return runRows(SOFTMAX, [products, mask], [{ shape: products.shape }], rows, width, uniforms);
  },
  gradient([dy], [y], { scale }) {
    const [rows, width] = rowsOf(y as Tensor);
    const back = [dy as Tensor, y as Tensor];
    return {
      products: () =>
        toTensor(runRows(SOFTMAX_GRAD, back, [{ shape: back[0]?.shape ?? [] }], rows, width, [scale as number])[0]),
    };
  },
});

/** Added to the score of a hidden key; finite, because WGSL has no infinity. */
export const HIDDEN_SCORE = -1e9;

/**
 * Hides later keys: query i sees the keys up to Tk − Tq + i, and with `reach` only the last `reach` of them, including
 * its own.
 */
interface Causality {
  readonly reach?: number;
}

/** Options of `attention`. */
interface MaskUse {
  /** Whether to differentiate in the mask, in stock operations; otherwise the mask is a constant. */
  readonly learnsMask?: boolean;
}

/** Whether `attention` needs no score array here, so that the caller need not split long sequences. */
export function attendsInBlocks(q: Tensor, k: Tensor, v: Tensor, mask?: Tensor, causal?: Causality): boolean {
  const [batch, heads] = q.shape as [number, number];
  if (!customKernels() || !suits(q, k, v, mask) || batch * heads > MAX_BATCH) return false;
  return formFor(sizesOf(q, v), causal !== undefined).kind !== "scores";
}

/**
 * softmax(scale · q kᵀ + mask) v with grouped queries: query heads j·g … j·g+g−1 share key/value head j, g = Hq/Hkv.
 * @param q [B, Hq, Tq, d]
 * @param k [B, Hkv, Tk, d]
 * @param v [B, Hkv, Tk, dv]
 * @param mask added to the scores, broadcastable to [B, 1, Tq, Tk]; 0 = visible, HIDDEN_SCORE = not
 * @param causal hides later keys as well; needs Tq ≤ Tk
 * @param use whether the mask has a gradient
 * @returns [B, Hq, Tq, dv]
 */
export function attention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  scale: number,
  mask?: Tensor,
  causal?: Causality,
  use: MaskUse = {},
): Tensor {
  if (use.learnsMask !== true && attendsInBlocks(q, k, v, mask, causal)) {
    return tf.tidy(() =>
      attentionInBlocks(q, k, v, { scale, causal: causal !== undefined, reach: causal?.reach ?? 0 }, mask),
    );
  }
  if (causal === undefined) return attentionByOps(q, k, v, scale, mask, use);
  return tf.tidy(() => {
    const [queries, keys] = [q.shape[2] as number, k.shape[2] as number];
    const order = causalMask(queries, keys, keys - queries, causal.reach);
    return attentionByOps(q, k, v, scale, mask === undefined ? order : order.add(mask), use);
  });
}

/** `attention` with the scores in memory: the oracle, and faster for short sequences if stock products are fast. */
function attentionByOps(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  scale: number,
  mask: Tensor | undefined,
  { learnsMask = false }: MaskUse,
): Tensor {
  return tf.tidy(() => {
    const [batch, queryHeads, queryLength, width] = q.shape as [number, number, number, number];
    const [, keyHeads, keyLength, valueWidth] = v.shape as [number, number, number, number];
    const groups = queryHeads / keyHeads;
    const grouped = q.reshape([batch * keyHeads, groups * queryLength, width]);
    const keys = k.reshape([batch * keyHeads, keyLength, width]);
    const values = v.reshape([batch * keyHeads, keyLength, valueWidth]);
    if (!learnsMask && customKernels() && suits(q, k, v, mask)) {
      const products = tf.matMul(grouped, keys, false, true);
      const weights = maskedSoftmax(products, queryHeads, queryLength, scale, mask);
      return tf.matMul(weights as tf.Tensor3D, values).reshape([batch, queryHeads, queryLength, valueWidth]);
    }
    let scores: Tensor = tf.matMul(grouped, keys, false, true).mul(scale);
    if (mask !== undefined) {
      const split = scores.reshape([batch, keyHeads * groups, queryLength, keyLength]);
      scores = split.add(mask).reshape([batch * keyHeads, groups * queryLength, keyLength]);
    }
    const mixed = tf.matMul(tf.softmax(scores) as tf.Tensor3D, values as tf.Tensor3D);
    return mixed.reshape([batch, queryHeads, queryLength, valueWidth]);
  });
}

/**
 * Causal mask for queries at positions offset … offset+Tq−1 over keys 0 … Tk−1.
 * @param reach maximum number of keys that a query sees, its own included; by default all previous ones
 * @returns [1, 1, Tq, Tk], 0 where position − reach < key ≤ position of the query, HIDDEN_SCORE otherwise
 */
export function causalMask(queryLength: number, keyLength: number, offset: number, reach?: number): Tensor {
  const values = new Float32Array(queryLength * keyLength);
  for (let row = 0; row < queryLength; row++) {
    values.fill(HIDDEN_SCORE, row * keyLength + Math.min(offset + row + 1, keyLength), (row + 1) * keyLength);
    if (reach !== undefined)
      values.fill(HIDDEN_SCORE, row * keyLength, row * keyLength + Math.max(0, offset + row + 1 - reach));
  }
  return tf.tensor4d(values, [1, 1, queryLength, keyLength]);
}
