import { MAX_BATCH } from "../../matmul/matmul-program.ts";
import { customKernels } from "../../runtime/custom-kernels.ts";
import { suits } from "../../runtime/custom-op.ts";
import { type Tensor, tf } from "../../tf.ts";
import { attentionInBlocks } from "./attention-blocks.ts";
import { formFor, sizesOf } from "./attention-runs.ts";
import { maskedSoftmax } from "./masked-softmax.ts";

/** Added to the score of a hidden key; finite, because WGSL has no infinity. */
export const HIDDEN_SCORE = -1e9;

/**
 * Hides later keys: query i sees the keys up to Tk − Tq + i, and with `reach` only the last `reach` of them, including
 * its own.
 */
export interface Causality {
  readonly reach?: number;
}

/** Options of `attention`. */
export interface MaskUse {
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
