/**
 * The form of a product of plain operands: the chosen tile in workgroup memory, or the register form that suits the shape
 * (measurements: docs/performance.md).
 */
import { builtInForms } from "../forms/active.ts";
import type { ProductForm } from "../forms/records.ts";
import { broadcastLanes } from "../runtime/custom-op.ts";
import { MAX_GROUPS } from "../runtime/program.ts";
import type { TiledForm } from "./plain-product.ts";
import { byRows, type Form, type Layout, MOST_ROWS, type Place, type ProductSpec } from "./product-form.ts";

// A single row has one row per thread, because every load of B is used once.
// Up to eight rows use eight by eight or eight by four, others sixteen rows by four columns; A is broadcast in the
// subgroup where the adapter has subgroups of 4 or 8 lanes. Results too narrow to fill a subgroup put several row
// blocks into one workgroup. Small products use the form of many rows: a step has hundreds of them, of every shape, and
// each form is a program to compile.

/** A form without its end and activation. */
type Tiling = Omit<Form, "end" | "activates">;

/**
 * Minimum columns for which lanes share the rows of a tall tile: at least two lanes then have work, and none loads all
 * rows.
 */
const LEAST_COLUMNS = 8;

/**
 * The fastest known form for a result of m × n.
 * @param small whether the work is too little to compile a program for few rows
 */
export function formOf(layout: Layout, m: number, n: number, vectors: boolean, small = false): Tiling {
  const narrow = {
    layout,
    rows: 8,
    groups: 1,
    unroll: 1,
    wide: false,
    broadcast: 0,
    lanes: builtInForms().lanes,
    vectors,
  };
  const broadcast = broadcastLanes();
  const lanes = broadcast === 0 ? narrow.lanes : broadcast;
  const tall = (m > 8 || small) && layout !== "any";
  // Sixteen rows by four columns need fewer loads than eight by eight, and waste fewer columns of a narrow result.
  const groups = (byRows(layout) && !tall) || (layout === "any" && broadcast === 4) ? 2 : 1;
  // With fewer columns some lanes would have no work.
  const least = broadcast > 0 && tall ? (small ? 1 : LEAST_COLUMNS) : (groups === 2 ? 6 : 3) * lanes;
  const wide = n >= least && m <= MAX_GROUPS * narrow.rows;
  if (!tall && (m === 1 || (m === 2 && !wide))) {
    const single = { ...narrow, rows: 1 };
    // For other layouts nothing was faster than four columns per thread, with each lane loading its own A.
    if (layout !== "rows") return single;
    return { ...single, wide: true, unroll: 4, groups: n >= 64 ? 2 : 1, broadcast, lanes };
  }
  if (!wide) return narrow;
  const unroll = layout === "rows" && tall ? 2 : 1;
  return { ...narrow, rows: tall ? MOST_ROWS : 8, groups, wide, broadcast, lanes, unroll };
}

/** Whether all are multiples of 4; undefined counts as one. */
export function multiplesOf4(...numbers: readonly (number | undefined)[]): boolean {
  return numbers.every((value) => (value ?? 0) % 4 === 0);
}

/** A product with fewer multiplications than this at 16 rows uses an existing program. */
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

/** Whether both operands can be read four elements at a time, along K or across it. */
function inFours({ m, n, k, aPlace, bPlace, bound }: ProductSpec): boolean {
  const regular = ({ line, step, batch, offset, repeat }: Place, count: number): boolean =>
    multiplesOf4(batch, offset, repeat) &&
    (step === 1 ? multiplesOf4(k, line) : line === 1 && multiplesOf4(count, step));
  return (bound === undefined || bound.kind === "triangle") && regular(aPlace, m) && regular(bPlace, n);
}

/** The form of a product. A split product has the form of the whole, so that sums do not depend on the split. */
export function formFor(
  spec: ProductSpec,
  twice: boolean,
  chosen: ProductForm,
): Omit<Form, "activates"> | Omit<TiledForm, "activates"> {
  if (chosen.kind === "tiles") {
    const loads = chosen.vectors && inFours(spec) ? 4 : 1;
    const along = { a: spec.aPlace.step === 1, b: spec.bPlace.step === 1 };
    const bounded = spec.bound !== undefined;
    return { tile: chosen, loads, along, bounded, twice, end: spec.end ?? "extras" };
  }
  const small = MOST_ROWS * spec.batch * spec.n * spec.k * (spec.repeats ?? 1) < SMALL;
  const end = spec.end ?? "extras";
  return { ...adjusted(tileOf(spec, twice, small), chosen), end: small && end === "alone" ? "extras" : end };
}

/** The form for a shape, with the rows and groups of the chosen register form if it gives them. */
function adjusted(form: Tiling, chosen: ProductForm): Tiling {
  if (chosen.kind !== "registers" || chosen.rows === undefined) return form;
  const broadcast = broadcastLanes();
  const groups = chosen.groups ?? 1;
  const wide = form.wide && chosen.rows > 1;
  const lanes = wide && broadcast > 0 ? broadcast : builtInForms().lanes;
  return { ...form, rows: chosen.rows, groups, unroll: 1, wide, broadcast: wide ? broadcast : 0, lanes };
}

function tileOf(spec: ProductSpec, twice: boolean, small: boolean): Tiling {
  const { m, n, k, out } = spec;
  const layout = twice ? "along-k-twice" : layoutOf(spec);
  const vectors = layout !== "any" && multiplesOf4(n, out.row, out.batch, out.offset);
  const form = formOf(layout, m, n, vectors, small);
  // With few rows this is faster for few columns summed over many rows of B, and slower for many columns summed over
  // few rows.
  const fewRows = form.rows === 8 && form.wide && k >= n;
  if (layout === "rows-along-k" && form.rows < MOST_ROWS && !fewRows) return formOf("rows", m, n, vectors, small);
  // Too little work for another program.
  if (small && !twice && !form.wide && !vectors) return formOf("any", m, n, vectors);
  return form;
}
