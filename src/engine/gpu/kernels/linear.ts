import { type ProductShape, runProduct } from "../matmul-program.ts";
import { onSoftwareAdapter, ownKernels } from "../own-kernels.ts";
import { defineOp, suits, toTensor } from "../own-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./column-sum.ts";

/** Low-rank branch of a linear layer: y += scale · (x Aᵀ) Bᵀ with A [r, in], B [out, r]. */
export interface LowRank {
  readonly a: Tensor;
  readonly b: Tensor;
  /** alpha / r. */
  readonly scale: number;
}

/**
 * y = x Wᵀ (+ bias) (+ LoRA branch), PyTorch's Linear.
 * @param x [..., in]
 * @param weight [out, in]
 * @returns [..., out]
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor, lora?: LowRank): Tensor {
  return tf.tidy(() => {
    const [outSize, inSize] = weight.shape as [number, number];
    const rows = x.reshape([-1, inSize]);
    const shape = [...x.shape.slice(0, -1), outSize];
    if (ownKernels() && onSoftwareAdapter() && suits(x, weight, bias, lora?.a, lora?.b)) {
      const y = ownLinear({ x: rows, weight, ...(bias === undefined ? {} : { bias }) }, { alpha: 1 })[0] as Tensor;
      if (lora === undefined) return y.reshape(shape);
      const [down] = ownLinear({ x: rows, weight: lora.a }, { alpha: 1 }) as [Tensor];
      const [sum] = ownLinear({ x: down, weight: lora.b, add: y }, { alpha: lora.scale }) as [Tensor];
      return sum.reshape(shape);
    }
    let y: Tensor = tf.matMul(rows as tf.Tensor2D, weight as tf.Tensor2D, false, true);
    if (bias !== undefined) y = y.add(bias);
    if (lora !== undefined) {
      const down = tf.matMul(rows as tf.Tensor2D, lora.a as tf.Tensor2D, false, true);
      const up = tf.matMul(down, lora.b as tf.Tensor2D, false, true);
      y = y.add(up.mul(lora.scale));
    }
    return y.reshape(shape);
  });
}

/** alpha · x Wᵀ (+ bias) (+ add) as one dispatch; a weight that needs no gradient costs none. */
const ownLinear = defineOp({
  name: "LabLinear",
  saved: ["x", "weight"],
  forward({ x, weight, bias, add }, { alpha }) {
    const sizes = linearSizes(x as tf.TensorInfo, weight as tf.TensorInfo);
    const extras = { alpha: alpha as number, bias, add };
    return [runProduct(x as tf.TensorInfo, weight as tf.TensorInfo, sizes, [sizes.m, sizes.n], extras)];
  },
  gradient([dy], [x, weight], attributes) {
    const [given, input, matrix] = [dy, x, weight] as [Tensor, Tensor, Tensor];
    const { m, n, k } = linearSizes(input, matrix);
    const alpha = attributes.alpha as number;
    const single = { batch: 1, aBatch: 1, bBatch: 1 };
    const back: ProductShape = { ...single, m, n: k, k: n, transposeA: false, transposeB: false };
    const outer: ProductShape = { ...single, m: n, n: k, k: m, transposeA: true, transposeB: false };
    return {
      x: () => toTensor(runProduct(given, matrix, back, [m, k], { alpha })),
      weight: () => toTensor(runProduct(given, input, outer, [n, k], { alpha })),
      bias: () => toTensor(columnSum(given, m, n)),
      add: () => given.clone(),
    };
  },
});

function linearSizes(x: tf.TensorInfo, weight: tf.TensorInfo): ProductShape {
  const [m, k] = x.shape as [number, number];
  const n = weight.shape[0] as number;
  return { batch: 1, aBatch: 1, bBatch: 1, m, n, k, transposeA: false, transposeB: true };
}
