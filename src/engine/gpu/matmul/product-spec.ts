/** Products as callers describe them. */
import type { tf } from "../tf.ts";
import type { AfterSums } from "./activation-code.ts";
import type { End } from "./product-form.ts";

/** Sizes of a batch of products. An operand with batch 1 is used for every product. */
export interface ProductShape {
  readonly batch: number;
  readonly aBatch: number;
  readonly bBatch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

export interface ProductExtras {
  /** Factor of the product; must be 1 with a bias or a second product. */
  readonly alpha?: number;
  /** [N], the initial value of the sums of every row. */
  readonly bias?: tf.TensorInfo | undefined;
  /** [batch, M, N], added. */
  readonly add?: tf.TensorInfo | undefined;
  /** Adds alpha · a bᵀ with a [M, r] and b [N, r]; only if `canAddProduct`. */
  readonly product?: { readonly a: tf.TensorInfo; readonly b: tf.TensorInfo; readonly alpha: number };
  /** Activation applied to the sums, after bias and addend. */
  readonly after?: AfterSums | undefined;
}

/** Position of an operand in its buffer, in elements. `step` is the stride along K, `line` that along M or N. */
export interface Place {
  readonly line: number;
  readonly step: number;
  readonly batch: number;
  readonly offset?: number;
  /** Distance between the products that are summed. */
  readonly repeat?: number;
}

/** A product of parts of tensors. */
export interface ProductSpec extends Pick<ProductShape, "batch" | "m" | "n" | "k"> {
  readonly a: tf.TensorInfo;
  readonly aPlace: Place;
  readonly b: tf.TensorInfo;
  readonly bPlace: Place;
  /** Adjacent batches that use one B; default 1. */
  readonly share?: number;
  /** Products summed into each result; default 1. */
  readonly repeats?: number;
  readonly alpha?: number;
  readonly out: { readonly row: number; readonly batch: number; readonly offset?: number };
  /** Tensor to write into. */
  readonly into?: tf.TensorInfo;
  /**
   * Default "extras", the only one that supports bias, add and product. Large "alone" products have a separate program.
   */
  readonly end?: End;
  /** For "scaled": the factor of every row. All positions are elements of a float32 tensor. */
  readonly rowFactors?: {
    readonly of: tf.TensorInfo;
    readonly row: number;
    readonly batch: number;
    readonly offset: number;
  };
  /**
   * Skips the zeros of a triangular operand. `upTo`: row r of A ends before r + reach, and is 0 for `READ_BEYOND`
   * elements after it. `onwards`: it starts at r − reach. `triangle`: only columns up to r + reach of row r of the
   * result are computed; the rest is not written.
   */
  readonly bound?: { readonly kind: "upTo" | "onwards" | "triangle"; readonly reach: number };
}
