/**
 * Rows of two arrays in any order and number: the layout of a prompt's text and visual tokens for the language model.
 *
 * Layout: first [U, D], second [V, D], D a multiple of 4, read and written four at a time; order [M]: below U a row of
 * `first`, from U on one of `second`, negative for zeros. Plan: a thread copies up to 16 groups of a row on software
 * adapters, one on a GPU. Backward, it sums all uses of its row in the order of a list. Limits: M · D and U + V below
 * 2³¹. Numerics: f32; forward copies, backward sums in fixed order, no atomics. Equals `placedRowsByOps` and its
 * gradient.
 */

import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";

/** Groups of four elements per thread on software adapters, where threads are expensive. */
const PIECE = 16;

/** Runs `work` for each group `n` of `row`. */
const eachGroup = (before: string, work: string): string => `
    let row = i / u.pieces;
    ${before}
    let begin = (i % u.pieces) * u.piece;
    for (var n = begin; n < min(begin + u.piece, u.groups); n++) { ${work} }`;

const PLACE = pointProgram({
  name: "lab-placed-rows",
  inputs: { first: "vec4<f32>", second: "vec4<f32>", order: "i32" },
  outputs: { result: "vec4<f32>" },
  uniforms: { size: "u32", pieces: "u32", piece: "u32", groups: "u32", rows: "i32" },
  body: eachGroup(
    "let wanted = order[row];",
    `
      var value = vec4f(0);
      if (wanted >= u.rows) { value = second[u32(wanted - u.rows) * u.groups + n]; }
      else if (wanted >= 0) { value = first[u32(wanted) * u.groups + n]; }
      result[row * u.groups + n] = value;`,
  ),
});

/** `places`: elements r and r + 1 delimit the list of row r; the lists follow. */
const GATHER = pointProgram({
  name: "lab-placed-rows-grad",
  inputs: { slopes: "vec4<f32>", places: "i32" },
  outputs: { result: "vec4<f32>" },
  uniforms: { size: "u32", pieces: "u32", piece: "u32", groups: "u32" },
  body: eachGroup(
    "let first = places[row]; let last = places[row + 1u];",
    `
      var total = vec4f(0);
      for (var at = first; at < last; at++) { total += slopes[u32(places[at]) * u.groups + n]; }
      result[row * u.groups + n] = total;`,
  ),
});

function uniformsOf(width: number): { pieces: number; uniforms: number[] } {
  const groups = width / 4;
  const piece = builtInForms().runs ? PIECE : 1;
  const pieces = Math.ceil(groups / piece);
  return { pieces, uniforms: [pieces, piece, groups] };
}

/**
 * Rows of the two arrays, one below the other, in `order`. Differentiable in both.
 * @param first [U, D]
 * @param second [V, D]
 * @param order [M] of −1 … U + V − 1; −1 gives a row of zeros
 * @returns [M, D]
 */
export function placedRows(first: Tensor, second: Tensor, order: readonly number[]): Tensor {
  const width = first.shape[1] as number;
  if (order.length === 0) return tf.zeros([0, width]);
  if (!customKernels() || !suits(first, second) || width % 4 !== 0) return placedRowsByOps(first, second, order);
  const split = first.shape[0] as number;
  const place = tf.customGrad((...given) => {
    const value = tf.tidy(() => {
      const { pieces, uniforms } = uniformsOf(width);
      const places = tf.tensor1d([...order], "int32");
      const inputs = [given[0] as Tensor, given[1] as Tensor, places];
      const outputs = [{ shape: [order.length, width] }];
      return toTensor(runPoints(PLACE, inputs, outputs, order.length * pieces, [...uniforms, split])[0]);
    });
    const gradFunc = (slopes: Tensor): Tensor[] => [
      slopesOf(slopes, order, 0, first.shape as [number, number]),
      slopesOf(slopes, order, split, second.shape as [number, number]),
    ];
    return { value, gradFunc };
  });
  return place(first, second);
}

/** The gradient of each row: the sum over all its uses. @param from index of the array's first row in `order` */
function slopesOf(slopes: Tensor, order: readonly number[], from: number, shape: [number, number]): Tensor {
  const [rows, width] = shape;
  const lists: number[][] = Array.from({ length: rows }, () => []);
  order.forEach((row, at) => {
    lists[row - from]?.push(at);
  });
  let start = rows + 1;
  const starts = lists.map((list) => {
    start += list.length;
    return start - list.length;
  });
  return tf.tidy(() => {
    const { pieces, uniforms } = uniformsOf(width);
    const places = tf.tensor1d([...starts, start, ...lists.flat()], "int32");
    return toTensor(runPoints(GATHER, [slopes, places], [{ shape }], rows * pieces, uniforms)[0]);
  });
}

/**
 * `placedRows` in stock operations. A product with rows of the identity copies exactly, and its gradient needs no
 * scatter.
 */
function placedRowsByOps(first: Tensor, second: Tensor, order: readonly number[]): Tensor {
  return tf.tidy(() => {
    const all = tf.concat([first, second]) as tf.Tensor2D;
    const pick = new Float32Array(order.length * all.shape[0]);
    order.forEach((row, at) => {
      if (row >= 0) pick[at * all.shape[0] + row] = 1;
    });
    return tf.matMul(tf.tensor2d(pick, [order.length, all.shape[0]]), all);
  });
}
