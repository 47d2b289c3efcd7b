/**
 * Matrix products by custom programs: records a product in the form of its bucket (forms/active.ts).
 *
 * out[b] (+)= (bias per column +) alpha · Σ_repeats A[b] B[b / share] (+ add)
 */
import { LabError } from "../../errors.ts";
import { productForm } from "../forms/active.ts";
import type { Epilogue, ProductForm, ProductLayout, ProductSizes, TileForm } from "../forms/records.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import { MAX_GROUPS, release, unwritten } from "../runtime/program.ts";
import { countWork, rowRuns } from "../runtime/work-budget.ts";
import type { tf } from "../tf.ts";
import { stockProduct } from "../tfjs/stock-product.ts";
import { addPieces, piecesOf, runActivated } from "./piece-sums.ts";
import { plainProgram, readsOf, type TiledForm } from "./plain-product.ts";
import { gridOf } from "./product.ts";
import {
  type Form,
  type Place,
  PRODUCT_UNIFORMS,
  type ProductExtras,
  type ProductShape,
  type ProductSpec,
} from "./product-form.ts";
import { formFor, formOf } from "./register-forms.ts";

/** The largest batch one dispatch can hold. */
export const MAX_BATCH = MAX_GROUPS;

/** Whether a second product can be added: single products A Bᵀ whose inner sizes are both multiples of 4. */
export function canAddProduct(k: number, rank: number): boolean {
  return k % 4 === 0 && rank % 4 === 0;
}

function programOf(form: Form | TiledForm): GpuProgram {
  return programOnce(JSON.stringify(form), () => plainProgram(form));
}

/** Product programs that a training step uses on a software adapter. */
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
  return [...new Set(forms.map((form) => programOf({ ...form, end: "extras", activates: false })))];
}

function layoutName(aPlace: Place, bPlace: Place): ProductLayout {
  return `${aPlace.step === 1 ? "n" : "t"}${bPlace.step === 1 ? "t" : "n"}`;
}

/** The sizes that determine the form of a product of whole tensors. */
export function sizesOf(shape: ProductShape, epilogue: Epilogue): ProductSizes {
  const { batch, m, n, k, transposeA, transposeB } = shape;
  return { layout: `${transposeA ? "t" : "n"}${transposeB ? "t" : "n"}`, epilogue, batch, m, n, k };
}

/**
 * Records a product of parts of tensors, in several dispatches where one would run too long; returns `into` or a new
 * tensor of `shape`. Products with bounds (split by attention itself) or a second product are not split.
 */
export function recordProduct(
  spec: ProductSpec,
  shape: readonly number[],
  extras: ProductExtras = {},
  chosen: ProductForm = productForm({ ...spec, layout: layoutName(spec.aPlace, spec.bPlace), epilogue: "part" }),
): tf.TensorInfo {
  const { add, after } = extras;
  // A residual is the program's addend, unless the product already has one.
  if (after?.kind === "residual" && add === undefined) {
    return recordProduct(spec, shape, { ...extras, add: after.other, after: undefined }, chosen);
  }
  if (chosen.kind === "tiles" && chosen.split !== undefined) return recordPieces(spec, shape, extras, chosen);
  const { m, n, k, aPlace, out, bound, rowFactors } = spec;
  const form = { ...formFor(spec, extras.product !== undefined, chosen), activates: after !== undefined };
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

/** The product of whole tensors over pieces of K, each a separate product, and their sum. Batches are not split. */
function recordPieces(
  spec: ProductSpec,
  shape: readonly number[],
  extras: ProductExtras,
  form: TileForm,
): tf.TensorInfo {
  const { split: _, ...tile } = form;
  const { m, n, k, aPlace, bPlace } = spec;
  const { length, count: pieces } = piecesOf(form, k);
  if (spec.batch > 1 || pieces === 1 || extras.product !== undefined) return recordProduct(spec, shape, extras, tile);
  const into = unwritten([pieces, m, n]);
  /** Records `count` pieces of equal length, starting at the given one. */
  const record = (first: number, count: number, steps: number): void => {
    const along = (place: Place): Place => ({
      ...place,
      batch: length * place.step,
      offset: (place.offset ?? 0) + first * length * place.step,
    });
    const out = { row: n, batch: m * n, offset: first * m * n };
    const some = { ...spec, k: steps, batch: count, aPlace: along(aPlace), bPlace: along(bPlace), out, into };
    recordProduct({ ...some, end: "alone" }, into.shape, {}, tile);
  };
  record(0, pieces - 1, length);
  record(pieces - 1, 1, k - (pieces - 1) * length);
  const { after, ...rest } = extras;
  const own = after && { ...after, sums: after.sums && { into: after.sums } };
  const sum = addPieces(into, { shape }, { ...rest, after: own });
  release(into);
  return sum;
}

function recordForm(
  spec: ProductSpec,
  form: Form | TiledForm,
  shape: readonly number[],
  extras: ProductExtras,
): tf.TensorInfo {
  const { m, n, k, a, b, aPlace, bPlace, out, bound } = spec;
  const { product } = extras;
  const alpha = extras.alpha ?? spec.alpha ?? 1;
  if (alpha !== 1 && (extras.bias !== undefined || product !== undefined)) {
    throw new LabError("internal", "A product with a bias or a second product cannot have a factor");
  }
  const reads = readsOf(form);
  /** Positions in elements of a buffer; there is no stride along a run of several. */
  const within = ({ line, step, batch, offset = 0, repeat = 0 }: Place, run: number) => {
    const of = (elements: number): number => Math.floor(elements / run);
    return { line: of(line), step: of(step), batch: of(batch), offset: of(offset), repeat: of(repeat) };
  };
  const [atA, atB] = [within(aPlace, reads.a.run), within(bPlace, reads.b.run)];
  const places: Record<keyof typeof PRODUCT_UNIFORMS, number> = {
    m,
    n,
    k,
    aRow: atA.line,
    aInner: atA.step,
    aBatch: atA.batch,
    aOffset: atA.offset,
    aRepeat: atA.repeat,
    bInner: atB.step,
    bColumn: atB.line,
    bBatch: atB.batch,
    bOffset: atB.offset,
    bRepeat: atB.repeat,
    bShare: spec.share ?? 1,
    repeats: spec.repeats ?? 1,
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
  const uniforms = Object.keys(PRODUCT_UNIFORMS).map((name) => places[name as keyof typeof places]);
  uniforms.push(alpha);
  if (product !== undefined) uniforms.push(product.a.shape[1] as number, product.alpha);
  const [x, y] = gridOf("tile" in form ? form.tile : form, m, n);
  // A buffer that is not read must still be bound and hold at least one group of four.
  const idle = "vectors" in form && form.vectors ? b : a;
  const inputs = [a, b];
  if (form.end === "scaled") {
    const { of, row, batch, offset } = spec.rowFactors as NonNullable<ProductSpec["rowFactors"]>;
    inputs.push(of);
    uniforms.push(row, batch, offset);
  }
  if (product !== undefined) inputs.push(product.a, product.b);
  if (form.end === "extras") inputs.push(extras.bias ?? idle, extras.add ?? idle);
  const values = spec.into === undefined ? { shape } : { into: spec.into };
  const { after } = extras;
  const own = after && { ...after, sums: after.sums && { into: after.sums } };
  return runActivated({ program: programOf(form), inputs, values, uniforms, grid: [x, y, spec.batch] }, own, idle);
}

/**
 * Records the product of whole tensors. If the chosen form is stock, a product with extras uses the form for parts.
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
  const chosen = productForm(sizesOf(sizes, extras.product === undefined ? "plain" : "low-rank"));
  if (chosen.kind !== "stock") return recordProduct(spec, shape, extras, chosen);
  const { alpha = 1, bias, add, product, after } = extras;
  const bare = alpha === 1 && [bias, add, product, after].every((extra) => extra === undefined);
  return bare
    ? { ...stockProduct(a, b, transposeA, transposeB), shape: [...shape] }
    : recordProduct(spec, shape, extras);
}
