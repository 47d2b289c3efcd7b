import { formLimits, productForm } from "../forms/active.ts";
import type { Activation, AfterSums } from "../matmul/activation-code.ts";
import { canAddProduct, runProduct, sizesOf } from "../matmul/matmul-program.ts";
import type { ProductExtras, ProductShape } from "../matmul/product-form.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { unwritten } from "../runtime/program.ts";
import { onTape } from "../runtime/tape.ts";
import { type Tensor, tf } from "../tf.ts";
import { activation } from "./activation.ts";
import type { Dropout } from "./dropout.ts";
import { columnSum } from "./repeat.ts";

/** Low-rank branch of a linear layer: y += scale · (x Aᵀ) Bᵀ with A [r, in], B [out, r]. */
export interface LowRank {
  readonly a: Tensor;
  readonly b: Tensor;
  /** alpha / r. */
  readonly scale: number;
  /** Dropout of the branch's input in training passes; products with the branch fused in support none. */
  readonly dropout?: Dropout;
}

/**
 * An activation or a residual that the last product of a layer may apply to its sums as it writes them. While the tape
 * records, the sums are stored besides the values for the gradient; a residual needs none.
 */
export class Following {
  readonly #kind: Activation;
  readonly #other: Tensor | undefined;
  #values: tf.TensorInfo | "in place" | undefined;

  /** @param other for "gate" and "residual", of the shape of the layer's output */
  constructor(kind: Activation, other?: Tensor) {
    this.#kind = kind;
    this.#other = other;
  }

  /**
   * Records a product that applies the activation. @param record returns the values @returns the tensor for the tape
   */
  by(shape: readonly number[], record: (after: AfterSums) => tf.TensorInfo): tf.TensorInfo {
    const [kind, other] = [this.#kind, this.#other];
    if (!onTape()) {
      this.#values = "in place";
      return record({ kind, other });
    }
    if (kind === "residual") {
      this.#values = record({ kind, other });
      return this.#values;
    }
    const sums = unwritten(shape);
    this.#values = record({ kind, other, sums });
    return sums;
  }

  /** The layer's output, from the result of its product. @param shape of the output */
  end(y: Tensor, shape: number[]): Tensor {
    if (this.#values === "in place") return y.reshape(shape);
    const sums = y.reshape(shape);
    if (this.#values === undefined) return activation(this.#kind, sums, this.#other);
    const known = this.#kind === "residual" ? sums : toTensor(this.#values).reshape(shape);
    return activation(this.#kind, sums, this.#other, known);
  }
}

/**
 * y = x Wᵀ (+ bias) (+ LoRA branch), PyTorch's Linear, and the activation that follows.
 * @param x [..., in]
 * @param weight [out, in]
 * @returns [..., out]
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor, lora?: LowRank, following?: Following): Tensor {
  return tf.tidy(() => {
    const [outSize, inSize] = weight.shape as [number, number];
    const rows = x.reshape([-1, inSize]);
    const shape = [...x.shape.slice(0, -1), outSize];
    const sizes = linearSizes(rows, weight);
    if (runsOurs(sizes, lora !== undefined) && suits(x, weight, bias, lora?.a, lora?.b)) {
      const base = { x: rows, weight, ...(bias === undefined ? {} : { bias }) };
      const ended = ([y]: Tensor[]): Tensor => following?.end(y as Tensor, shape) ?? (y as Tensor).reshape(shape);
      if (lora === undefined) return ended(customLinear(base, { alpha: 1 }, following));
      const [down] = customLinear({ x: rows, weight: lora.a }, { alpha: 1 }) as [Tensor];
      if (canAddProduct(inSize, lora.a.shape[0] as number)) {
        return ended(customLowRankLinear({ ...base, down, up: lora.b }, { scale: lora.scale }, following));
      }
      const [y] = customLinear(base, { alpha: 1 }) as [Tensor];
      return ended(customLinear({ x: down, weight: lora.b, add: y }, { alpha: lora.scale }, following));
    }
    let y: Tensor = tf.matMul(rows as tf.Tensor2D, weight as tf.Tensor2D, false, true);
    if (bias !== undefined) y = y.add(bias);
    if (lora !== undefined) {
      const down = tf.matMul(rows as tf.Tensor2D, lora.a as tf.Tensor2D, false, true);
      const up = tf.matMul(down, lora.b as tf.Tensor2D, false, true);
      y = y.add(up.mul(lora.scale));
    }
    return following?.end(y, shape) ?? y.reshape(shape);
  });
}

/** Whether a linear layer uses our fused programs; otherwise it uses the backend's products and additions. */
function runsOurs(sizes: ProductShape, lowRank: boolean): boolean {
  return customKernels() && productForm(sizesOf(sizes, lowRank ? "low-rank" : "plain")).kind !== "stock";
}

/**
 * y + scale · (x Aᵀ) Bᵀ of the low-rank branch, for a given y; the result may already include the activation that
 * follows.
 * @param y [M, out] @param x [M, in]
 */
export function addLowRank(y: Tensor, x: Tensor, lora: LowRank, following?: Following): Tensor {
  return tf.tidy(() => {
    const up = { ...linearSizes(x, lora.b), k: lora.b.shape[1] as number };
    if (runsOurs(up, false) && suits(x, y, lora.a, lora.b)) {
      const [down] = customLinear({ x, weight: lora.a }, { alpha: 1 }) as [Tensor];
      return customLinear({ x: down, weight: lora.b, add: y }, { alpha: lora.scale }, following)[0] as Tensor;
    }
    const down = tf.matMul(x as tf.Tensor2D, lora.a as tf.Tensor2D, false, true);
    return y.add(tf.matMul(down, lora.b as tf.Tensor2D, false, true).mul(lora.scale));
  });
}

/** alpha · x Wᵀ (+ bias) (+ add) as one dispatch. A weight that needs no gradient costs none. */
const customLinear = defineOp({
  name: "LabLinear",
  saved: ["x", "weight"],
  forward({ x, weight, bias, add }, { alpha }, following) {
    const sizes = linearSizes(x as tf.TensorInfo, weight as tf.TensorInfo);
    const extras = { alpha: alpha as number, bias, add };
    return [recorded(x as tf.TensorInfo, weight as tf.TensorInfo, sizes, extras, following as Following | undefined)];
  },
  gradient([dy], [x, weight], attributes) {
    const [given, input, matrix] = [dy, x, weight] as [Tensor, Tensor, Tensor];
    const alpha = attributes.alpha as number;
    return {
      x: () => inputGradient(given, matrix, alpha),
      weight: () => weightGradient(given, input, alpha),
      bias: () => biasGradient(given),
      add: () => given.clone(),
    };
  },
});

/** x Wᵀ (+ bias) + scale · down upᵀ, with down = x Aᵀ of the low-rank branch, as one dispatch. */
const customLowRankLinear = defineOp({
  name: "LabLowRankLinear",
  saved: ["x", "weight", "down", "up"],
  forward(inputs, { scale }, following) {
    const { x, weight, down, up } = inputs as Record<"x" | "weight" | "down" | "up", tf.TensorInfo>;
    const sizes = linearSizes(x, weight);
    const extras = { bias: inputs.bias, product: { a: down, b: up, alpha: scale as number } };
    return [recorded(x, weight, sizes, extras, following as Following | undefined)];
  },
  gradient([dy], [x, weight, down, up], attributes) {
    const given = dy as Tensor;
    const scale = attributes.scale as number;
    return {
      x: () => inputGradient(given, weight as Tensor, 1),
      weight: () => weightGradient(given, x as Tensor, 1),
      bias: () => biasGradient(given),
      down: () => inputGradient(given, up as Tensor, scale),
      up: () => weightGradient(given, down as Tensor, scale),
    };
  },
});

/**
 * Storage buffers of a product with a low-rank branch, a gate and kept sums; devices with fewer apply the gate
 * separately.
 */
const ACTIVATED_LOW_RANK_BUFFERS = 9;

function recorded(
  x: tf.TensorInfo,
  weight: tf.TensorInfo,
  sizes: ProductShape,
  extras: ProductExtras,
  following: Following | undefined,
): tf.TensorInfo {
  const shape = [sizes.m, sizes.n];
  const buffers = extras.product === undefined ? 0 : ACTIVATED_LOW_RANK_BUFFERS;
  if (following === undefined || formLimits().maxStorageBuffersPerShaderStage < buffers)
    return runProduct(x, weight, sizes, shape, extras);
  return following.by(shape, (after) => runProduct(x, weight, sizes, shape, { ...extras, after }));
}

const SINGLE = { batch: 1, aBatch: 1, bBatch: 1 };

/** alpha · dy W, [M, in]. */
function inputGradient(dy: Tensor, weight: Tensor, alpha: number): Tensor {
  const [m, k] = dy.shape as [number, number];
  const n = weight.shape[1] as number;
  const sizes: ProductShape = { ...SINGLE, m, n, k, transposeA: false, transposeB: false };
  return toTensor(runProduct(dy, weight, sizes, [m, n], { alpha }));
}

/** alpha · dyᵀ x, [out, in]. */
function weightGradient(dy: Tensor, x: Tensor, alpha: number): Tensor {
  const [k, m] = dy.shape as [number, number];
  const n = x.shape[1] as number;
  const sizes: ProductShape = { ...SINGLE, m, n, k, transposeA: true, transposeB: false };
  return toTensor(runProduct(dy, x, sizes, [m, n], { alpha }));
}

function biasGradient(dy: Tensor): Tensor {
  const [rows, width] = dy.shape as [number, number];
  return toTensor(columnSum(dy, rows, width));
}

function linearSizes(x: tf.TensorInfo, weight: tf.TensorInfo): ProductShape {
  const [m, k] = x.shape as [number, number];
  const n = weight.shape[0] as number;
  return { batch: 1, aBatch: 1, bBatch: 1, m, n, k, transposeA: false, transposeB: true };
}
