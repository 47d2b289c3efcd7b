import { type Tensor, tf } from "../tf.ts";

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
    let y: Tensor = tf.matMul(rows as tf.Tensor2D, weight as tf.Tensor2D, false, true);
    if (bias !== undefined) y = y.add(bias);
    if (lora !== undefined) {
      const down = tf.matMul(rows as tf.Tensor2D, lora.a as tf.Tensor2D, false, true);
      const up = tf.matMul(down, lora.b as tf.Tensor2D, false, true);
      y = y.add(up.mul(lora.scale));
    }
    return y.reshape([...x.shape.slice(0, -1), outSize]);
  });
}
