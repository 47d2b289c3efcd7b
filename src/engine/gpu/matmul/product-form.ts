/** Forms of the register-blocked products: layouts, tiles, uniforms, and shared code. */
import { u32s } from "../runtime/pipelines.ts";
import type { tf } from "../tf.ts";
import type { AfterSums } from "./activation-code.ts";

/** Memory layout of the operands, which decides how they are loaded. */
export type Layout =
  /** Both read along K, four at a time: A [M, K], B [N, K], K a multiple of 4. */
  | "along-k"
  /** `along-k` plus a second product of that kind: a linear layer and its low-rank branch. */
  | "along-k-twice"
  /**
   * B [K, N] read and the result written four columns at a time, N a multiple of 4; A read one by one at any stride.
   */
  | "rows"
  /** `rows` with A [M, K] read four at a time along K, a multiple of 4. */
  | "rows-along-k"
  /** Everything one by one at any stride. */
  | "any";

/** Rows of the largest tile. */
export const MOST_ROWS = 16;
/**
 * How far beyond the end of a row in K (`upTo`) a product may read: its tile ends with its last row, and K is read in
 * groups of four. The elements there must be 0.
 */
export const READ_BEYOND = MOST_ROWS - 1 + 3;

/** The part of a result that a thread keeps in registers, and how it loads rows of A. */
export interface Tile {
  readonly rows: number;
  /**
   * Lanes of a subgroup that load one row of A each and broadcast it; 0 for none. Needs `wide`. With one row, the lanes
   * load the steps of one iteration instead (at most `unroll`).
   */
  readonly broadcast: number;
}

/**
 * How the sums are written. "extras": they may start with a bias and are added to an extra. "alone": as they are.
 * "adding": added to the result. "scaled": times a factor of their row.
 */
export type End = "extras" | "alone" | "adding" | "scaled";

/** How threads divide the result. */
export interface Form extends Tile {
  readonly layout: Layout;
  /** Groups of four columns that a thread keeps in registers. */
  readonly groups: number;
  /** Steps along K per loop iteration, for operands read one by one. */
  readonly unroll: number;
  /** All threads of a workgroup share their rows; otherwise narrow results put several row blocks into a workgroup. */
  readonly wide: boolean;
  /** Threads per workgroup; equal to `broadcast` unless that is 0. */
  readonly lanes: number;
  /**
   * Writes four columns at a time: N, bias, extra and the strides of the result are multiples of 4. Always true where B
   * is read by rows.
   */
  readonly vectors: boolean;
  readonly end: End;
  /** Whether an activation, named by uniforms, is applied to the sums; only with the end "extras". */
  readonly activates: boolean;
}

/** Fields of the uniform block, in order. Strides and K count elements of their buffer: groups of four for vectors. */
export const PRODUCT_UNIFORMS = {
  ...u32s("m n k aRow aInner aBatch aOffset aRepeat bInner bColumn bBatch bOffset bRepeat bShare"),
  ...u32s("repeats outRow outBatch outOffset hasBias hasExtra upTo onwards reach triangle"),
};

/** One line of text per index. */
export function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/** One line of text per cell of a grid, row by row. */
export function grid(rows: number, columns: number, cell: (r: number, c: number) => string): string {
  return lines(rows, (r) => lines(columns, (c) => cell(r, c)));
}

/** Registers of A: one per row, or one per block of rows that the lanes broadcast. */
export function loadsOf(form: Tile, load: (index: number) => string): string {
  const count = form.broadcast > 0 ? Math.ceil(form.rows / form.broadcast) : form.rows;
  return lines(count, load);
}

/** The register of a row, in the lane that loaded it or in this one. */
export function rowOf({ broadcast }: Tile, row: number, name = "a"): string {
  return broadcast > 0
    ? `subgroupBroadcast(${name}${Math.floor(row / broadcast)}, ${row % broadcast}u)`
    : `${name}${row}`;
}

/** Sets `name` to the register of row `r`, a loop variable over every `step`-th row. */
export function pickRow(name: string, rows: number, step: number, register: (row: number) => string): string {
  const later = Array.from({ length: rows / step - 1 }, (_, i) => step * (i + 1));
  return `var ${name} = ${register(0)};
          ${later.map((r) => `${name} = select(${name}, ${register(r)}, r == ${r}u);`).join(" ")}`;
}

/** Addresses of the rows of A that this thread loads. */
export function rowAddresses(form: Tile, stride: string, base: string): string {
  const row = (i: number): string =>
    form.broadcast > 0 && form.rows > 1 ? `row + ${i * form.broadcast}u + local.x % ${form.broadcast}u` : `row + ${i}u`;
  return loadsOf(form, (i) => `let pa${i} = ${base} + min(${row(i)}, u.m - 1u) * ${stride};`);
}

// Products as callers describe them.

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
