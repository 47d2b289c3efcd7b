/** The middle part of attention in one dispatch forward and one backward: scale, mask and softmax of the score rows. */
import { type RowProgram, runRows } from "../../rows-program.ts";
import { defineOp, toTensor } from "../../runtime/custom-op.ts";
import { u32s } from "../../runtime/uniforms.ts";
import type { Tensor, tf } from "../../tf.ts";
import { rowsOf } from "../norm.ts";
import { MASK_FIELDS, maskStrides, SCORE } from "./masked-score.ts";

/**
 * softmax(scale · products + mask) over the last axis.
 * @param products q kᵀ whose rows run over batch, query head and query position, [..., Tk]
 * @param mask broadcastable to [B, heads, length, Tk]; not differentiated
 * @returns same shape as `products`
 */
export function maskedSoftmax(products: Tensor, heads: number, length: number, scale: number, mask?: Tensor): Tensor {
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
