/**
 * What the generator of products takes: operands, phases and an epilogue as code, tiles of threads, and products as
 * callers describe them.
 */
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import type { tf } from "../tf.ts";
import type { AfterSums } from "./activation-code.ts";

/** How the elements of an operand are read. A line is a row of A or a column of B. All text is WGSL. */
export interface Operand {
  /** Elements that a thread reads at once. */
  readonly run: 1 | 4 | 8;
  /** Whether a run lies along K; otherwise it is a step of several lines. */
  readonly along: boolean;
  /** Address of the first line at the start of K; the same in all threads of a workgroup. */
  readonly base: string;
  /** What is added to an address per run, and per line (`along`) or step of K. */
  readonly perRun: string;
  readonly perNext: string;
  /** Statements before the loop over K, for the line of load number `load`. */
  readonly fixed?: (load: number, line: string) => string;
  /** Statements that declare `<name>l`, and for runs of eight `<name>h`: the elements at an address. */
  readonly read: (name: string, address: string, load: number) => string;
  /** As `read`, but the elements are those of the tile, in f16: zeros where the condition `inside` is false. */
  readonly readTo?: (name: string, address: string, inside: string) => string | undefined;
  /** Condition that an element is not a zero that its buffer does not hold. */
  readonly seen?: (line: string, k: string) => string;
  /** Number of runs along K with a factor in common, which `read` leaves out, and the factor of those at an address. */
  readonly shared?: { readonly runs: number; readonly factor: (address: string) => string } | undefined;
}

/** A sum of products over K from `first` to `last`, which may end before K does at `end`. */
export interface Phase {
  readonly a: Operand;
  readonly b: Operand;
  readonly first: string;
  readonly last: string;
  readonly end: string;
  /** Statements before it, which end with the head of a loop around it. */
  readonly each?: string;
}

/** What becomes of a sum, which belongs to `row` and `col` of `batch`. All text is WGSL. */
export interface Epilogue {
  /** Index of its result. */
  readonly place: string;
  /** The result, before what is added to it. */
  readonly value: (sum: string) => string;
  /** Whether it is added to what the result holds. */
  readonly adds?: boolean;
  /** Index of the bias of a column, and whether the sums may start with it. */
  readonly bias?: { readonly at: (col: string) => string; readonly starts: boolean };
  /** Whether a tensor shaped like the result is added. */
  readonly extra?: boolean;
  /** Whether an activation, named by uniforms, is applied. */
  readonly activates: boolean;
}

/** The code of a program that depends on its tile. */
export interface Parts extends Pick<GpuProgram, "enable" | "subgroupSize" | "workgroup"> {
  /** Elements of the result, of the bias, and of what is added. */
  readonly written: "f32" | "vec4<f32>";
  /** Rows from `row0`, and the first column of the threads that share it. */
  readonly tall: number;
  readonly left: string;
  /** Workgroup variables, and functions that write. */
  readonly header: string;
  /** Declares `row0` and `col0`, the first row and column. */
  readonly place: string;
  /** Declares the sums. */
  readonly begin: string;
  readonly phase: (phase: Phase) => string;
  readonly end: string;
}

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

/** Whether four adjacent columns of B are read at once. */
export function byRows(layout: Layout): boolean {
  return layout === "rows" || layout === "rows-along-k";
}

/** Rows of the largest tile. */
export const MOST_ROWS = 16;
/**
 * How far beyond the end of a row in K (`upTo`) a product may read: its tile ends with its last row, and K is read in
 * groups of four. The elements there must be 0.
 */
export const READ_BEYOND = MOST_ROWS - 1 + 3;

/** How threads that read their operands themselves divide the result. */
export interface ThreadTile {
  /** Rows and groups of four columns that a thread keeps in registers. */
  readonly rows: number;
  readonly groups: number;
  /** Steps along K per loop iteration, for operands read one by one. */
  readonly unroll: number;
  /** All threads of a workgroup share their rows; otherwise narrow results put several row blocks into a workgroup. */
  readonly wide: boolean;
  /** Whether adjacent threads of a wide form have adjacent groups. */
  readonly apart: boolean;
  /**
   * Lanes of a subgroup that load one row of A each and broadcast it; 0 for none. Needs `wide`. With one row, the lanes
   * load the steps of one iteration instead (at most `unroll`).
   */
  readonly broadcast: number;
  /** Threads per workgroup; equal to `broadcast` unless that is 0. */
  readonly lanes: number;
  /** Writes four columns at a time: N, bias, extra and the strides of the result are multiples of 4. */
  readonly vectors: boolean;
}

/**
 * How the sums are written. "extras": they may start with a bias and are added to an extra. "alone": as they are.
 * "adding": added to the result. "scaled": times a factor of their row.
 */
export type End = "extras" | "alone" | "adding" | "scaled";

export interface Form extends Omit<ThreadTile, "apart"> {
  readonly layout: Layout;
  readonly end: End;
  /** Whether an activation, named by uniforms, is applied to the sums; only with the end "extras". */
  readonly activates: boolean;
}

/** Fields of the uniform block, in order. Strides count elements of their buffer: groups of four for vectors. */
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
