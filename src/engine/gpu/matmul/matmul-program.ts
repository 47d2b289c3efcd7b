/**
 * Matrix products by custom programs: chooses the form for a shape and records the product.
 *
 * out[b] (+)= (bias per column +) alpha · Σ_repeats A[b] B[b / share] (+ add)
 *
 * Forms (measurements: docs/performance.md): a single row has one row per thread, because every load of B is used once.
 * Up to eight rows use eight by eight or eight by four, others sixteen rows by four columns; A is broadcast in the
 * subgroup where the adapter has subgroups of 4 or 8 lanes. Results too narrow to fill a subgroup put several row
 * blocks into one workgroup. Small products use the form of many rows: a step has hundreds of them, of every shape, and
 * each form is a program to compile.
 */

import { LabError } from "../../errors.ts";
import { broadcastLanes } from "../runtime/custom-kernels.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid, MAX_GROUPS, runProgram } from "../runtime/program.ts";
import { countWork, rowRuns } from "../runtime/work-budget.ts";
import type { tf } from "../tf.ts";
import { byRows, productProgram } from "./matmul-code.ts";
import { type End, type Form, type Layout, MOST_ROWS, PRODUCT_UNIFORMS } from "./product-form.ts";

/** Threads per workgroup without subgroups: the vector width of llvmpipe, twice that of SwiftShader. */
const LANES = 8;
/** Columns from which lanes share the rows of a tall tile: at least two of them then have work, and none loads all rows. */
const LEAST_COLUMNS = 8;
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
export interface ProductSpec {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
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
  /** Default "extras", the only one that supports bias, add and product. Large "alone" products have a separate program. */
  readonly end?: End;
  /** For "scaled": the factor of every row. All positions are elements of a float32 tensor. */
  readonly rowFactors?: {
    readonly of: tf.TensorInfo;
    readonly row: number;
    readonly batch: number;
    readonly offset: number;
  };
  /**
   * Skips what is 0 in a triangular operand. `upTo`: row r of A ends before r + reach, and is 0 for `READ_BEYOND`
   * elements after it. `onwards`: it starts at r − reach. `triangle`: only columns up to r + reach of row r of the
   * result are computed; the rest is not written.
   */
  readonly bound?: { readonly kind: "upTo" | "onwards" | "triangle"; readonly reach: number };
}

/** The largest batch one dispatch can hold. */
export const MAX_BATCH = MAX_GROUPS;

/** Whether a second product can be added: single products A Bᵀ whose inner sizes are both multiples of 4. */
export function canAddProduct(k: number, rank: number): boolean {
  return k % 4 === 0 && rank % 4 === 0;
}

const PROGRAMS = new Map<string, GpuProgram>();

function programOf(form: Form): GpuProgram {
  const key = JSON.stringify(form);
  const made = PROGRAMS.get(key) ?? productProgram(form);
  PROGRAMS.set(key, made);
  return made;
}

/**
 * The fastest known form for a result of m × n.
 * @param small too little work to compile a program for few rows
 */
function formOf(layout: Layout, m: number, n: number, vectors: boolean, small = false): Omit<Form, "end"> {
  const narrow = { layout, rows: 8, groups: 1, unroll: 1, wide: false, broadcast: 0, lanes: LANES, vectors };
  const broadcast = broadcastLanes();
  const lanes = broadcast === 0 ? LANES : broadcast;
  const tall = (m > 8 || small) && layout !== "any";
  // Sixteen rows by four columns need fewer loads than eight by eight, and waste fewer columns of a narrow result.
  const groups = (byRows(layout) && !tall) || (layout === "any" && broadcast === 4) ? 2 : 1;
  // With fewer columns some lanes would have no work.
  const least = broadcast > 0 && tall ? (small ? 1 : LEAST_COLUMNS) : (groups === 2 ? 6 : 3) * lanes;
  const wide = n >= least && m <= MAX_GROUPS * narrow.rows;
  if (!tall && (m === 1 || (m === 2 && !wide))) {
    const single = { ...narrow, rows: 1 };
    // Otherwise nothing was faster than four columns per thread, each lane loading its own A.
    if (layout !== "rows") return single;
    return { ...single, wide: true, unroll: 4, groups: n >= 64 ? 2 : 1, broadcast, lanes };
  }
  if (!wide) return narrow;
  const unroll = layout === "rows" && tall ? 2 : 1;
  return { ...narrow, rows: tall ? MOST_ROWS : 8, groups, wide, broadcast, lanes, unroll };
}

/** Product programs of a training step on a software adapter. */
export function usualProducts(): GpuProgram[] {
  const [rows, wide, narrow] = [512, 64, 16];
  const forms = [
    formOf("along-k-twice", rows, wide, true),
    ...(["along-k", "rows", "rows-along-k"] as const).flatMap((layout) => [
      formOf(layout, rows, wide, true),
      formOf(layout, rows, narrow, true),
    ]),
    formOf("along-k", rows, wide, false),
    formOf("any", rows, narrow, false),
  ];
  return [...new Set(forms.map((form) => programOf({ ...form, end: "extras" })))];
}

/** Whether all are multiples of 4; undefined counts as one. */
export function multiplesOf4(...numbers: readonly (number | undefined)[]): boolean {
  return numbers.every((value) => (value ?? 0) % 4 === 0);
}

/** Multiplications of a product of 16 rows below which it uses an existing program. */
const SMALL = 2 ** 22;

/** The best layout for the positions of the operands. */
function layoutOf({ k, n, aPlace: a, bPlace: b, out, bound, repeats }: ProductSpec): Layout {
  const once = (repeats ?? 1) === 1;
  const aInOrder = once && a.step === 1 && multiplesOf4(k, a.line, a.batch, a.offset);
  const bInOrder = b.step === 1 && multiplesOf4(b.line, b.batch, b.offset);
  if (aInOrder && bInOrder && (bound === undefined || bound.kind === "triangle")) return "along-k";
  const bRows = b.line === 1 && multiplesOf4(n, b.step, b.batch, b.offset, b.repeat);
  if (!bRows || !multiplesOf4(out.row, out.batch, out.offset)) return "any";
  return aInOrder && bound?.kind !== "onwards" ? "rows-along-k" : "rows";
}

/** The form of a product. A split product has the form of the whole, so that sums do not depend on the split. */
function formFor(spec: ProductSpec, twice: boolean): Form {
  const small = MOST_ROWS * spec.batch * spec.n * spec.k * (spec.repeats ?? 1) < SMALL;
  const end = spec.end ?? "extras";
  return { ...tileOf(spec, twice, small), end: small && end === "alone" ? "extras" : end };
}

function tileOf(spec: ProductSpec, twice: boolean, small: boolean): Omit<Form, "end"> {
  const { m, n, k, out } = spec;
  const layout = twice ? "along-k-twice" : layoutOf(spec);
  const vectors = layout !== "any" && multiplesOf4(n, out.row, out.batch, out.offset);
  const form = formOf(layout, m, n, vectors, small);
  // With few rows this is faster for few columns summed over many rows of B, and slower for many columns over few.
  const fewRows = form.rows === 8 && form.wide && k >= n;
  if (layout === "rows-along-k" && form.rows < MOST_ROWS && !fewRows) return formOf("rows", m, n, vectors, small);
  // Not worth another program.
  if (small && !twice && !form.wide && !vectors) return formOf("any", m, n, vectors);
  return form;
}

/**
 * Records a product of parts of tensors, in several dispatches where one would run too long; returns `into` or a new
 * tensor of `shape`. Products with bounds (split by attention itself) or a second product are not split.
 */
export function recordProduct(spec: ProductSpec, shape: readonly number[], extras: ProductExtras = {}): tf.TensorInfo {
  const { m, n, k, aPlace, out, bound, rowFactors } = spec;
  const form = formFor(spec, extras.product !== undefined);
  const perRow = spec.batch * n * k * (spec.repeats ?? 1);
  const cut = bound === undefined && extras.product === undefined;
  let into = spec.into;
  for (const { from, count } of cut ? rowRuns(m, perRow) : [{ from: 0, count: m }]) {
    const part: ProductSpec = {
      ...spec,
      m: count,
      aPlace: { ...aPlace, offset: (aPlace.offset ?? 0) + from * aPlace.line },
      out: { ...out, offset: (out.offset ?? 0) + from * out.row },
      ...(rowFactors === undefined
        ? {}
        : { rowFactors: { ...rowFactors, offset: rowFactors.offset + from * rowFactors.row } }),
      ...(into === undefined ? {} : { into }),
    };
    into = recordForm(part, form, shape, extras);
    countWork(count * perRow);
  }
  return into as tf.TensorInfo;
}

function recordForm(spec: ProductSpec, form: Form, shape: readonly number[], extras: ProductExtras): tf.TensorInfo {
  const { m, n, k, a, b, aPlace, bPlace, out, bound } = spec;
  const { product } = extras;
  const { layout } = form;
  const alpha = extras.alpha ?? spec.alpha ?? 1;
  if (alpha !== 1 && (extras.bias !== undefined || product !== undefined)) {
    throw new LabError("internal", "A product with a bias or a second product cannot have a factor");
  }
  const vectorsOfA = layout === "rows" || layout === "any" ? 1 : 4;
  const vectorsOfB = layout === "any" ? 1 : 4;
  const rowsOfB = byRows(layout);
  const values: Record<(typeof PRODUCT_UNIFORMS)[number], number> = {
    m,
    n,
    k: k / vectorsOfA,
    aRow: aPlace.line / vectorsOfA,
    aInner: aPlace.step,
    aBatch: aPlace.batch / vectorsOfA,
    aOffset: (aPlace.offset ?? 0) / vectorsOfA,
    aRepeat: (aPlace.repeat ?? 0) / vectorsOfA,
    bInner: bPlace.step / (rowsOfB ? 4 : 1),
    bColumn: bPlace.line / (rowsOfB ? 1 : vectorsOfA),
    bBatch: bPlace.batch / vectorsOfB,
    bOffset: (bPlace.offset ?? 0) / vectorsOfB,
    bRepeat: (bPlace.repeat ?? 0) / vectorsOfB,
    bShare: spec.share ?? 1,
    repeats: spec.repeats ?? 1,
    tileRows: form.rows,
    tileGroups: form.groups,
    outRow: out.row,
    outBatch: out.batch,
    outOffset: out.offset ?? 0,
    hasBias: extras.bias === undefined ? 0 : 1,
    hasExtra: extras.add === undefined ? 0 : 1,
    upTo: bound?.kind === "upTo" ? 1 : 0,
    onwards: bound?.kind === "onwards" ? 1 : 0,
    reach: bound?.reach ?? 0,
    triangle: bound?.kind === "triangle" ? 1 : 0,
  };
  const uniforms = PRODUCT_UNIFORMS.map((name) => values[name]);
  uniforms.push(alpha);
  if (product !== undefined) uniforms.push((product.a.shape[1] as number) / 4, product.alpha);
  const across = 4 * form.groups;
  const [x, y] = form.wide
    ? [Math.ceil(n / (across * form.lanes)), Math.ceil(m / form.rows)]
    : flatGrid(Math.ceil((Math.ceil(n / across) * Math.ceil(m / form.rows)) / form.lanes));
  // A buffer that is not read must still be bound and hold at least one group of four.
  const idle = form.vectors ? b : a;
  const inputs = form.end === "extras" ? [a, b, extras.bias ?? idle, extras.add ?? idle] : [a, b];
  if (form.end === "scaled") {
    const { of, row, batch, offset } = spec.rowFactors as NonNullable<ProductSpec["rowFactors"]>;
    inputs.push(of);
    uniforms.push(row, batch, offset);
  }
  if (product !== undefined) inputs.push(product.a, product.b);
  const output = spec.into === undefined ? { shape } : { into: spec.into };
  return runProgram(programOf(form), inputs, [output], uniforms, [x, y, spec.batch])[0] as tf.TensorInfo;
}

/**
 * Records the product of whole tensors.
 * @param a [aBatch, M, K], or [aBatch, K, M] when transposed, float32
 * @param b [bBatch, K, N], or [bBatch, N, K] when transposed, float32
 * @param shape of the result in the caller's terms, batch · M · N elements
 */
export function runProduct(
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  sizes: ProductShape,
  shape: readonly number[],
  extras: ProductExtras = {},
): tf.TensorInfo {
  const { batch, m, n, k, transposeA, transposeB } = sizes;
  const aBatch = sizes.aBatch === 1 ? 0 : m * k;
  const bBatch = sizes.bBatch === 1 ? 0 : n * k;
  const spec: ProductSpec = {
    m,
    n,
    k,
    batch,
    a,
    aPlace: transposeA ? { line: 1, step: m, batch: aBatch } : { line: k, step: 1, batch: aBatch },
    b,
    bPlace: transposeB ? { line: k, step: 1, batch: bBatch } : { line: 1, step: n, batch: bBatch },
    out: { row: n, batch: m * n },
  };
  return recordProduct(spec, shape, extras);
}
