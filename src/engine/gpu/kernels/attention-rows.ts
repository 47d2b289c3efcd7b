/**
 * What happens to a run of attention scores between its products: softmax over what a row sees, and its gradient. Layout:
 * scores [heads, count, width] of `count` queries over `width` keys. A row belongs to one thread or one workgroup
 * (gpu/rows-program.ts), gradients of the weights go element by element. f32; the row's largest score and the inverse of
 * its sum are kept as they are, so that rows of huge scores are made again exactly. Equals scale, mask and tf.softmax.
 */
import { pointProgram, type RowProgram } from "../rows-program.ts";
import { MASK_FIELDS, SCORE } from "./masked-score.ts";

/** Uniforms that tell which scores of a run are seen and where their mask lies. */
const SEEN = {
  heads: "u32",
  count: "u32",
  causal: "u32",
  last: "u32",
  reach: "u32",
  masked: "u32",
  maskStart: "u32",
  ...MASK_FIELDS,
} as const;

/** Sees `row`, the row of the run's scores; gives `begin` ≤ key < `end` and the score of a key. */
const ROW = `
    let place = row % u.count;
    let head = row / u.count;
    let end = select(u.width, min(u.width, place + u.last + 1u), u.causal != 0u);
    let begin = select(0u, max(place + u.last + 1u, u.reach) - u.reach, u.reach != 0u);
    let above = u.maskStart + (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + place * u.maskRow;`;

/** Softmax in place; what a row does not see becomes 0 as far as a product may still read it. */
export const SOFTMAX: RowProgram = {
  name: "lab-attention-softmax",
  inputs: { mask: "f32" },
  outputs: { weights: "f32", stats: "f32" },
  uniforms: { rows: "u32", width: "u32", ...SEEN, statsBatch: "u32", statsStart: "u32" },
  header: SCORE,
  body: `
    ${ROW}
    let base = row * u.width;
    var top = -3.0e38;
    for (var i = begin + first; i < end; i += step) { top = max(top, score(weights[base + i], above + i * u.maskKey)); }
    top = largest(top, lane);
    var total = 0.0;
    for (var i = begin + first; i < end; i += step) {
      let e = exp(score(weights[base + i], above + i * u.maskKey) - top);
      weights[base + i] = e;
      total += e;
    }
    total = sum(total, lane);
    let inverse = 1.0 / total;
    for (var i = begin + first; i < end; i += step) { weights[base + i] *= inverse; }
    for (var i = first; i < begin; i += step) { weights[base + i] = 0.0; }
    for (var i = end + first; i < min(u.width, end + 8u); i += step) { weights[base + i] = 0.0; }
    if (first == 0u) {
      let at = 2u * (head * u.statsBatch + u.statsStart + place);
      stats[at] = top;
      stats[at + 1u] = inverse;
    }`,
};

/** Scores → weights, and gradients of the weights → gradients of the products, both in place. */
export const SLOPES = pointProgram({
  name: "lab-attention-slopes",
  inputs: { mask: "f32", stats: "f32", delta: "f32" },
  outputs: { weights: "f32", slopes: "f32" },
  uniforms: { size: "u32", width: "u32", ...SEEN, statsBatch: "u32", statsStart: "u32" },
  header: SCORE,
  body: `
    let row = i / u.width;
    let key = i % u.width;
    ${ROW}
    if (key < begin || key >= end) { weights[i] = 0.0; slopes[i] = 0.0; return; }
    let at = head * u.statsBatch + u.statsStart + place;
    let p = exp(score(weights[i], above + key * u.maskKey) - stats[2u * at]) * stats[2u * at + 1u];
    weights[i] = p;
    slopes[i] = u.scale * p * (slopes[i] - delta[at]);`,
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
