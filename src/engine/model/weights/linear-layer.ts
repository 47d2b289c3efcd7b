/** The linear layers of the model by the path of their tensors, for any storage of the weight. */
import { dropout } from "../../gpu/kernels/dropout.ts";
import { addLowRank, Following, type LowRank, linear } from "../../gpu/kernels/linear.ts";
import type { Activation } from "../../gpu/matmul/activation-code.ts";
import type { Arithmetic } from "../../gpu/packed/half.ts";
import { packedLinear, packedRows } from "../../gpu/packed/linear.ts";
import { PackedMatrix } from "../../gpu/packed/matrix.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Matrix, Weights } from "./weights.ts";

/**
 * y = x Wᵀ (+ bias) (+ low-rank branch) of the layer `<path>`: `<path>.weight` [out, in], `<path>.bias` if there is
 * one.
 * @param x [..., in]
 * @returns [..., out]
 */
export function linearLayer(w: Weights, path: string, x: Tensor, following?: Following): Tensor {
  const [matrix, bias, lora] = [w.matrix(`${path}.weight`), w.find(`${path}.bias`), w.lora(path)];
  const drops = lora?.dropout;
  if (drops === undefined) return timesMatrix(x, matrix, bias, lora, w.arithmetic, following);
  // As in PEFT, dropout applies only to the input of the branch.
  return tf.tidy(() => {
    const y = timesMatrix(x, matrix, bias, undefined, w.arithmetic);
    const [rows, outputs] = [x.size / (x.shape.at(-1) as number), y.shape.at(-1) as number];
    const kept = dropout(x.reshape([rows, -1]), drops);
    const sum = addLowRank(y.reshape([rows, outputs]), kept, lora as LowRank, following);
    return following?.end(sum, y.shape) ?? sum.reshape(y.shape);
  });
}

/**
 * The layer and the activation that follows, which its product applies.
 * @param gate for "gate", of the shape of the layer's output
 */
export function activatedLayer(w: Weights, path: string, x: Tensor, kind: Activation, gate?: Tensor): Tensor {
  return linearLayer(w, path, x, new Following(kind, gate));
}

/** The layer's output added to `stream` by its product; both have the same shape. */
export function addLayer(w: Weights, path: string, x: Tensor, stream: Tensor): Tensor {
  return linearLayer(w, path, x, new Following("residual", stream));
}

/** Computes `count` outputs of the layer `<path>`, from `first` on. @returns [..., count] */
export function linearPart(w: Weights, path: string, x: Tensor, first: number, count: number): Tensor {
  const weight = w.matrix(`${path}.weight`);
  return timesMatrix(x, matrixPart(weight, first, count), w.find(`${path}.bias`)?.slice([first], [count]));
}

/** x Wᵀ (+ bias) (+ low-rank branch) with a given matrix (the head is not a layer with a path). @returns [..., out] */
export function timesMatrix(
  x: Tensor,
  matrix: Matrix,
  bias?: Tensor,
  lora?: LowRank,
  arithmetic: Arithmetic = "f32",
  following?: Following,
): Tensor {
  if (matrix instanceof PackedMatrix) return packedLinear(x, matrix, bias, lora, arithmetic, following);
  return linear(x, matrix, bias, lora, following);
}

/** Rows `ids` of a matrix, [...ids.shape, in]. Not differentiated: embeddings are frozen. @param ids int32 */
export function matrixRows(matrix: Matrix, ids: Tensor): Tensor {
  return matrix instanceof PackedMatrix ? packedRows(matrix, ids) : tf.gather(matrix, ids.toInt());
}

function matrixPart(matrix: Matrix, first: number, count: number): Matrix {
  if (matrix instanceof PackedMatrix) return matrix.part(first, count);
  return matrix.slice([first, 0], [count, matrix.shape[1] as number]);
}
