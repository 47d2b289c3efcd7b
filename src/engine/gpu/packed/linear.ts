/** The linear layer with a packed weight: gradients for its input and low-rank branch, none for the weight. */

import { addLowRank, type Following, type LowRank } from "../kernels/linear.ts";
import { zerosBehind } from "../kernels/repeat.ts";
import { customKernels } from "../runtime/custom-kernels.ts";
import { suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { unpacked } from "./gather.ts";
import type { Arithmetic } from "./half.ts";
import type { PackedMatrix } from "./matrix.ts";
import { packedBackward, packedForward } from "./product.ts";
import { UNIT } from "./unpack.ts";

/**
 * y = x Wᵀ (+ bias) (+ low-rank branch in f32). Weight and bias get no gradient: a packed layer is frozen.
 * @param x [..., in]
 * @param bias [out]
 * @param arithmetic precision of the product where the card supports it; the low-rank branch is f32
 * @param following an activation
 * @returns [..., out]
 */
export function packedLinear(
  x: Tensor,
  matrix: PackedMatrix,
  bias?: Tensor,
  lora?: LowRank,
  arithmetic: Arithmetic = "f32",
  following?: Following,
): Tensor {
  return tf.tidy(() => {
    const [outSize, inSize] = matrix.shape;
    const rows = x.reshape([-1, inSize]);
    const own = lora === undefined ? following : undefined;
    const y =
      customKernels() && suits(x)
        ? customProduct(rows, matrix, bias, arithmetic, own)
        : stockProduct(rows, matrix, bias);
    const sum = lora === undefined ? y : addLowRank(y, rows, lora, following);
    const shape = [...x.shape.slice(0, -1), outSize];
    return following?.end(sum, shape) ?? sum.reshape(shape);
  });
}

/** `packedLinear` in stock operations on the unpacked matrix: the oracle of the tests. */
function stockProduct(rows: Tensor, matrix: PackedMatrix, bias: Tensor | undefined): Tensor {
  const y: Tensor = tf.matMul(rows as tf.Tensor2D, unpacked(matrix) as tf.Tensor2D, false, true);
  return bias === undefined ? y : y.add(bias);
}

function customProduct(
  rows: Tensor,
  matrix: PackedMatrix,
  bias: Tensor | undefined,
  arithmetic: Arithmetic,
  following: Following | undefined,
): Tensor {
  const [outSize, inSize] = matrix.shape;
  const product = tf.customGrad((given) => {
    const input = given as Tensor;
    const missing = Math.ceil(inSize / UNIT) * UNIT - inSize;
    // Packed rows are padded with zeros; the input is padded only where its size is not a whole number of units.
    const x = zerosBehind(input, [0, missing]);
    return {
      value: toTensor(
        following?.by([rows.shape[0] as number, outSize], (after) =>
          packedForward(x, matrix, bias, arithmetic, after),
        ) ?? packedForward(x, matrix, bias, arithmetic),
      ),
      gradFunc: (dy: Tensor | Tensor[]) => toTensor(packedBackward(dy as Tensor, matrix, arithmetic)),
    };
  });
  return product(rows);
}
