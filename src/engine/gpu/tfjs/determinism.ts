/**
 * Replaces the backend's BatchMatMul, once per realm: a float32 product takes the form of its bucket (forms/active.ts),
 * one of ours or the stock program. In both, no dispatch runs for seconds (gpu/runtime/work-budget.ts).
 *
 * Both are repeatable on one adapter: ours has no atomics, and the stock kernel is prevented from splitting long inner
 * dimensions over workgroups that add with float atomics, whose order varies (docs/spec/webgpu.md#22-recording).
 */

import { productForm } from "../forms/active.ts";
import { MAX_BATCH, runProduct, sizesOf } from "../matmul/matmul-program.ts";
import type { ProductShape } from "../matmul/product-form.ts";
import { customKernels } from "../runtime/custom-op.ts";
import { tf } from "../tf.ts";
import { overrideKernel } from "./override.ts";
import { inRuns } from "./stock-product.ts";

/**
 * Inner length from which tfjs splits the sum if workgroups are few, and number of results up to which it uses another
 * program instead.
 */
const SPLIT_K_FROM = 2000;
const REDUCED_RESULTS = 128;
const STOCK_TILE = 32;
/** MatMulProgramType.MatMulSmallOutputSizeProgram of tfjs-backend-webgpu 4.22.0. */
const SMALL_OUTPUT_PROGRAM = 2;
const FLAG = "WEBGPU_MATMUL_PROGRAM_TYPE";

/** Wraps the backend's BatchMatMul. */
export function installDeterministicMatMul(): void {
  overrideKernel("BatchMatMul", (params, stock) => {
    const a = params.inputs.a as tf.TensorInfo;
    const b = params.inputs.b as tf.TensorInfo;
    const attrs = params.attrs as { transposeA: boolean; transposeB: boolean };
    if (customKernels()) {
      const sizes = productSizes(a, b, attrs.transposeA, attrs.transposeB);
      if (sizes !== undefined && productForm(sizesOf(sizes, "plain")).kind !== "stock") {
        const outer = sizes.aBatch >= sizes.bBatch ? a.shape.slice(0, -2) : b.shape.slice(0, -2);
        return runProduct(a, b, sizes, [...outer, sizes.m, sizes.n]);
      }
    }
    const inner = a.shape[a.shape.length - (attrs.transposeA ? 2 : 1)] as number;
    const columns = b.shape[b.shape.length - (attrs.transposeB ? 2 : 1)] as number;
    const batch = Math.max(...[a, b].map(({ shape }) => tf.util.sizeFromShape(shape.slice(0, -2))));
    const rows = { a, transposeA: attrs.transposeA, perRow: batch * columns * inner };
    return inRuns(rows, (part) => {
      const inputs = { ...params.inputs, a: part };
      const run = (): tf.TensorInfo => stock({ ...params, inputs }) as tf.TensorInfo;
      const m = part.shape[part.shape.length - (attrs.transposeA ? 1 : 2)] as number;
      if (!splitsInner({ batch, m, n: columns, k: inner }, fewWorkgroups())) return run();
      const chosen = tf.env().getNumber(FLAG);
      tf.env().set(FLAG, SMALL_OUTPUT_PROGRAM);
      try {
        return run();
      } finally {
        tf.env().set(FLAG, chosen);
      }
    });
  });
}

/** Number of workgroups up to which tfjs considers them few on this adapter. */
function fewWorkgroups(): number {
  const flag = tf.env().getNumber("WEBGPU_THRESHOLD_TO_INCREASE_WORKGROUPS_FOR_MATMUL");
  return flag > 0 ? flag : (tf.backend() as unknown as StockBackend).thresholdToIncreaseWorkgroups;
}

interface StockBackend {
  readonly thresholdToIncreaseWorkgroups: number;
}

/**
 * Whether the stock BatchMatMul of tfjs-backend-webgpu 4.22.0 would add parts of the inner dimension with float
 * atomics.
 * @param few number of workgroups up to which it considers them few
 */
export function splitsInner({ batch, m, n, k }: Pick<ProductShape, "batch" | "m" | "n" | "k">, few: number): boolean {
  if (batch !== 1 || k < SPLIT_K_FROM || m * n <= REDUCED_RESULTS) return false;
  const workgroups = Math.ceil(m / STOCK_TILE) * Math.ceil(n / STOCK_TILE);
  return workgroups <= few || (m <= 8 && workgroups <= 2 * few);
}

/**
 * Sizes for our product; undefined if it does not support the operands, for other types and for empty or partly
 * broadcast batches.
 */
function productSizes(
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  transposeA: boolean,
  transposeB: boolean,
): ProductShape | undefined {
  if (a.dtype !== "float32" || b.dtype !== "float32") return undefined;
  const [m, k] = lastTwo(a.shape, transposeA);
  const [inner, n] = lastTwo(b.shape, transposeB);
  const [outerA, outerB] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const aBatch = tf.util.sizeFromShape(outerA);
  const bBatch = tf.util.sizeFromShape(outerB);
  const batch = Math.max(aBatch, bBatch);
  const together = aBatch === 1 || bBatch === 1 || tf.util.arraysEqual(outerA, outerB);
  // For a single product of operands with different ranks the stock kernel derives the shape.
  const sameRank = outerA.length === outerB.length;
  if (!together || !sameRank || k !== inner || batch > MAX_BATCH || batch * m * n * k === 0) return undefined;
  return { batch, aBatch, bBatch, m, n, k, transposeA, transposeB };
}

function lastTwo(shape: readonly number[], transposed: boolean): [number, number] {
  const [rows, columns] = shape.slice(-2) as [number, number];
  return transposed ? [columns, rows] : [rows, columns];
}
