/**
 * Softmax over a run of attention scores, and its gradient. Layout: scores [heads, count, stride] of `count` queries
 * over `width` keys, stride the next multiple of 4, read and written four at a time. A row belongs to one thread or one
 * workgroup (gpu/rows-program.ts); gradients of the weights are computed group by group. f32. The row's largest score
 * and the inverse of its sum are stored unrounded, so that rows of huge scores are recomputed exactly. The following
 * product divides by the sum, because it has far fewer numbers to divide. Equals scale, mask and tf.softmax.
 */

import { READ_BEYOND } from "../../matmul/product-form.ts";
import { pointProgram, type RowProgram } from "../../rows-program.ts";
import { u32s } from "../../runtime/pipelines.ts";
import type { tf } from "../../tf.ts";

// How all our attention programs turn a product of query and key into a score: scale and mask.

/** Uniforms after `masked`: element strides of the mask in [B, heads, Tq, Tk], 0 where it is shared, and the factor. */
export const MASK_FIELDS = {
  ...u32s("maskBatch maskHead maskRow maskKey"),
  scale: "f32",
} as const;

/** The scaled product, plus element `at` of the buffer `mask` where `u.masked` is set. */
export const SCORE = `
    fn score(product: f32, at: u32) -> f32 {
      var extra = 0.0;
      if (u.masked != 0u) { extra = mask[at]; }
      return u.scale * product + extra;
    }`;

/** `SCORE` of four adjacent keys. */
const SCORES = `
    fn scores(products: vec4f, at: u32) -> vec4f {
      var extra = vec4f(0);
      if (u.masked != 0u) {
        extra = vec4f(mask[at], mask[at + u.maskKey], mask[at + 2u * u.maskKey], mask[at + 3u * u.maskKey]);
      }
      return u.scale * products + extra;
    }`;

/** Element strides of a mask in [B, heads, Tq, Tk], 0 where it is shared. */
export function maskStrides(mask: tf.TensorInfo): [number, number, number, number] {
  const shape = [1, 1, 1, 1, ...mask.shape].slice(-4);
  let stride = 1;
  const strides: [number, number, number, number] = [0, 0, 0, 0];
  for (let axis = 3; axis >= 0; axis--) {
    const size = shape[axis] as number;
    strides[axis] = size === 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

/** Uniforms that define which scores of a run are visible and where their mask is. */
const SEEN = {
  ...u32s("heads count causal last reach masked maskStart"),
  ...MASK_FIELDS,
} as const;

/** Needs `row`, the row within the run; declares `begin` ≤ key < `end` and the score of a key. */
const ROW = `
    let place = row % u.count;
    let head = row / u.count;
    let end = select(u.width, min(u.width, place + u.last + 1u), u.causal != 0u);
    let begin = select(0u, max(place + u.last + 1u, u.reach) - u.reach, u.reach != 0u);
    let above = u.maskStart + (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + place * u.maskRow;`;

/** Code that tells which of the four keys from `key` on are visible to the row. */
const VISIBLE = `
    fn visible(key: u32, begin: u32, end: u32) -> vec4<bool> {
      let keys = vec4u(key, key + 1u, key + 2u, key + 3u);
      return (keys >= vec4u(begin)) & (keys < vec4u(end));
    }`;
const EACH = "for (var i = begin / 4u + first; 4u * i < end; i += step)";
const SEEN_SCORES = "scores(weights[base + i], above + 4u * i * u.maskKey)";

const KEEP = `
    if (first == 0u) {
      let at = 2u * (head * u.statsBatch + u.statsStart + place);
      stats[at] = top;
      stats[at + 1u] = inverse;
    }`;

/**
 * Softmax in place, except for the factor it stores in `stats`. Hidden keys become 0 wherever a product may read them.
 */
export const SOFTMAX: RowProgram = {
  name: "lab-attention-softmax",
  inputs: { mask: "f32" },
  outputs: { weights: "vec4<f32>", stats: "f32" },
  uniforms: { rows: "u32", width: "u32", groups: "u32", ...SEEN, statsBatch: "u32", statsStart: "u32" },
  header: SCORES + VISIBLE,
  body: `
    ${ROW}
    let base = row * u.groups;
    var tops = vec4f(-3.0e38);
    ${EACH} { tops = max(tops, select(vec4f(-3.0e38), ${SEEN_SCORES}, visible(4u * i, begin, end))); }
    let top = largest(max(max(tops.x, tops.y), max(tops.z, tops.w)), lane);
    var totals = vec4f(0);
    ${EACH} {
      let e = select(vec4f(0), exp(${SEEN_SCORES} - top), visible(4u * i, begin, end));
      weights[base + i] = e;
      totals += e;
    }
    let inverse = 1.0 / sum((totals.x + totals.y) + (totals.z + totals.w), lane);
    for (var i = first; i < begin / 4u; i += step) { weights[base + i] = vec4f(0); }
    let after = (end + 3u) / 4u;
    for (var i = after + first; i < min(u.groups, after + ${Math.ceil(READ_BEYOND / 4)}u); i += step) { weights[base + i] = vec4f(0); }
    ${KEEP}`,
};

/**
 * The same for rows that see all keys, if their number is a multiple of four, the scale is positive and there is no
 * mask: without conditions, two groups of keys at a time.
 */
export const WHOLE_SOFTMAX: RowProgram = {
  name: "lab-attention-softmax-whole",
  inputs: {},
  outputs: { weights: "vec4<f32>", stats: "f32" },
  uniforms: { rows: "u32", groups: "u32", count: "u32", scale: "f32", statsBatch: "u32", statsStart: "u32" },
  header: `
    fn weight(at: u32, top: f32) -> vec4f {
      let e = exp(u.scale * weights[at] - top);
      weights[at] = e;
      return e;
    }`,
  body: `
    let place = row % u.count;
    let head = row / u.count;
    let end = (row + 1u) * u.groups;
    let begin = row * u.groups + first;
    var tops = vec4f(-3.0e38);
    var i = begin;
    for (; i + step < end; i += 2u * step) { tops = max(tops, max(weights[i], weights[i + step])); }
    if (i < end) { tops = max(tops, weights[i]); }
    let top = u.scale * largest(max(max(tops.x, tops.y), max(tops.z, tops.w)), lane);
    var totals = vec4f(0);
    i = begin;
    for (; i + step < end; i += 2u * step) { totals += weight(i, top) + weight(i + step, top); }
    if (i < end) { totals += weight(i, top); }
    let inverse = 1.0 / sum((totals.x + totals.y) + (totals.z + totals.w), lane);
    ${KEEP}`,
};

/** Scores → weights, and gradients of the weights → gradients of the products. Both in place, four keys per thread. */
export const SLOPES = pointProgram({
  name: "lab-attention-slopes",
  inputs: { mask: "f32", stats: "f32", delta: "f32" },
  outputs: { weights: "vec4<f32>", slopes: "vec4<f32>" },
  uniforms: { size: "u32", width: "u32", groups: "u32", ...SEEN, statsBatch: "u32", statsStart: "u32" },
  header: SCORES + VISIBLE,
  body: `
    let row = i / u.groups;
    let key = 4u * (i % u.groups);
    ${ROW}
    if (key + 4u <= begin || key >= end) { weights[i] = vec4f(0); slopes[i] = vec4f(0); return; }
    let at = head * u.statsBatch + u.statsStart + place;
    let seen = visible(key, begin, end);
    let p = select(vec4f(0), exp(scores(weights[i], above + key * u.maskKey) - stats[2u * at]) * stats[2u * at + 1u], seen);
    weights[i] = p;
    slopes[i] = select(vec4f(0), u.scale * p * (slopes[i] - delta[at]), seen);`,
});

/** Σ dy · y over each row. */
export const DELTA: RowProgram = {
  name: "lab-attention-delta",
  inputs: { dy: "f32", y: "f32" },
  outputs: { delta: "f32" },
  uniforms: { rows: "u32", width: "u32" },
  body: `
    var along = 0.0;
    for (var i = first; i < u.width; i += step) { along += dy[row * u.width + i] * y[row * u.width + i]; }
    along = sum(along, lane);
    if (first == 0u) { delta[row] = along; }`,
};
