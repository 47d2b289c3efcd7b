/**
 * WGSL of the register-blocked matrix products. No workgroup memory, barriers or atomics: a product repeats bit for
 * bit. Sizes and strides are uniforms, so one pipeline serves all shapes of a layout and form. Only the register tile is
 * written out.
 *
 * On a software adapter loads are expensive: every load of a lane is a gather, whatever the addresses. A good form does
 * many multiplications per load; the best form loads the rows of A once per subgroup and broadcasts them. Limits:
 * M, N, K up to 2³² elements per operand; sums run over K in order, in f32.
 */

import { builtInForms } from "../forms/active.ts";
import type { ProductForm } from "../forms/records.ts";
import { broadcastLanes } from "../runtime/custom-op.ts";
import { bound, type GpuProgram } from "../runtime/pipelines.ts";
import { MAX_GROUPS } from "../runtime/program.ts";
import { ACTIVATED, afterBeside, afterCode } from "./activation-code.ts";
import {
  type Form,
  grid,
  type Layout,
  lines,
  loadsOf,
  MOST_ROWS,
  type Place,
  PRODUCT_UNIFORMS,
  type ProductSpec,
  pickRow,
  rowAddresses,
  rowOf,
} from "./product-form.ts";
import type { TiledForm } from "./tiled-code.ts";

/** Rows of `a` times rows of `b`, four elements of K at a time. Does not support the K range of triangular operands. */
function alongK(form: Form, a: string, b: string, end: string, strides: [string, string], factor = ""): string {
  const own = a === "a";
  const columns = 4 * form.groups;
  return `{
      ${rowAddresses(form, strides[0], own ? "aBase" : "0u")}
      ${lines(columns, (c) => `let pb${c} = ${own ? "bBase + " : ""}min(col + ${c}u, u.n - 1u) * ${strides[1]};`)}
      for (var k = 0u; k < ${end}; k++) {
        ${loadsOf(form, (i) => `let a${i} = ${factor}${a}[pa${i} + k];`)}
        ${lines(columns, (c) => `let b${c} = ${b}[pb${c} + k];`)}
        ${lines(
          form.rows,
          (r) => `{ let s = ${rowOf(form, r)};
          ${lines(form.groups, (g) => `c${r}_${g} += vec4f(${[0, 1, 2, 3].map((c) => `dot(s, b${4 * g + c})`).join(", ")});`)} }`,
        )}
      }
    }`;
}

/** Reads A four elements of K at a time, and B in groups of four columns, row after row. */
function rowsAlongK(form: Form): string {
  const { rows, groups } = form;
  return `
      let last = select(u.k, min(u.k, (row + ${rows + 2}u + u.reach) / 4u), u.upTo != 0u);
      ${rowAddresses(form, "u.aRow", "aBase")}
      ${lines(groups, (g) => `let pb${g} = bBase + min(${columnOf(form, g)} / 4u, u.n / 4u - 1u);`)}
      for (var k = 0u; k < last; k++) {
        ${loadsOf(form, (i) => `let a${i} = a[pa${i} + k];`)}
        ${grid(4, groups, (j, g) => `let b${j}_${g} = b[pb${g} + (4u * k + ${j}u) * u.bInner];`)}
        ${lines(
          rows,
          (r) => `{ let s = ${rowOf(form, r)};
          ${lines(groups, (g) => `c${r}_${g} += ${[0, 1, 2, 3].map((j) => `s[${j}] * b${j}_${g}`).join(" + ")};`)} }`,
        )}
      }`;
}

/** Reads A one element at a time, and B in groups of four columns. */
function oneByOne(form: Form): string {
  const vectors = form.layout === "rows";
  const { unroll } = form;
  const together = form.rows === 1 && form.broadcast > 0 && unroll > 1;
  const first = together ? `let lanesA = a[pa0 + (k + local.x % ${unroll}u) * u.aInner];` : "";
  const loads = (lane: number | undefined, ka: string): string =>
    lane === undefined
      ? loadsOf(form, (i) => `let a${i} = a[pa${i} + ${ka}];`)
      : `let a0 = subgroupBroadcast(lanesA, ${lane}u);`;
  const step = (offset: number, lane?: number): string => `{
          let kb = (k + ${offset}u) * u.bInner;
          ${loads(lane, `(k + ${offset}u) * u.aInner`)}
          ${lines(form.groups, (g) =>
            vectors
              ? `let b${g} = b[pb${g} + kb];`
              : `let b${g} = vec4f(${[0, 1, 2, 3].map((c) => `b[pb${g}_${c} + kb]`).join(", ")});`,
          )}
          ${lines(form.rows, (r) => `{ let s = ${form.rows === 1 ? "a0" : rowOf(form, r)}; ${lines(form.groups, (g) => `c${r}_${g} += s * b${g};`)} }`)}
        }`;
  const address = (g: number): string =>
    vectors
      ? `let pb${g} = bBase + rep * u.bRepeat + min(${columnOf(form, g)} / 4u, u.n / 4u - 1u);`
      : lines(
          4,
          (c) => `let pb${g}_${c} = bBase + rep * u.bRepeat + min(${columnOf(form, g)} + ${c}u, u.n - 1u) * u.bColumn;`,
        );
  return `
      let first = select(0u, max(row, u.reach) - u.reach, u.onwards != 0u);
      let last = select(u.k, min(u.k, row + ${form.rows - 1}u + u.reach), u.upTo != 0u);
      for (var rep = 0u; rep < u.repeats; rep++) {
        ${rowAddresses(form, "u.aRow", "aBase + rep * u.aRepeat")}
        ${lines(form.groups, address)}
        var k = first;
        ${unroll > 1 ? `for (; k + ${unroll - 1}u < last; k += ${unroll}u) { ${first} ${lines(unroll, (i) => step(i, together ? i : undefined))} }` : ""}
        for (; k < last; k++) ${step(0)}
      }`;
}

/** Whether a thread's columns are adjacent in B. */
export function byRows(layout: Layout): boolean {
  return layout === "rows" || layout === "rows-along-k";
}

/**
 * First column of a thread's group. Wide forms interleave the groups so that adjacent threads read adjacent columns.
 */
function columnOf(form: Form, group: number): string {
  return form.wide && byRows(form.layout) ? `(col + ${4 * form.lanes * group}u)` : `(col + ${4 * group}u)`;
}

/**
 * Computes `row` and `col`, the start of this thread's tile. Threads beyond the result keep running, because the
 * subgroup needs them.
 */
function placement(form: Form): string {
  const width = 4 * form.groups;
  if (form.wide) {
    const col = byRows(form.layout)
      ? `group.x * ${width * form.lanes}u + 4u * local.x`
      : `(group.x * ${form.lanes}u + local.x) * ${width}u`;
    return `
      let row = group.y * ${form.rows}u;
      let col = ${col};
      if (u.triangle != 0u && group.x * ${width * form.lanes}u > row + ${form.rows - 1}u + u.reach) { return; }`;
  }
  return `
      let tile = (group.y * groups.x + group.x) * ${form.lanes}u + local.x;
      let tiles = (u.n + ${width - 1}u) / ${width}u;
      let row = (tile / tiles) * ${form.rows}u;
      let col = (tile % tiles) * ${width}u;
      if (row >= u.m || (u.triangle != 0u && col > row + ${form.rows - 1}u + u.reach)) { return; }`;
}

/** Writes four columns of a row of sums, together or one by one. */
function putCode({ vectors, layout, end }: Form): string {
  const factor = end === "scaled" ? "factors[u.factorOffset + batch * u.factorBatch + row * u.factorRow] * " : "";
  const value = `${end === "adding" ? "result[at] + " : ""}${layout === "along-k-twice" ? "" : "u.alpha * "}${factor}`;
  const store = vectors
    ? `let at = place(row, col, batch) / 4u; result[at] = ${value}sum;`
    : `for (var c = 0u; c < min(4u, u.n - col); c++) { let at = place(row, col + c, batch); result[at] = ${value}sum[c]; }`;
  return `
      fn place(row: u32, col: u32, batch: u32) -> u32 {
        return batch * u.outBatch + u.outOffset + row * u.outRow + col;
      }
      fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
        if ((row < u.m) & (col < u.n)) { ${store} }
      }`;
}

/**
 * Initial value of the sums of four columns: the bias. Here it costs one load; at the end it would cost one per row.
 */
function startCode({ vectors }: Form): string {
  const loaded = vectors
    ? "bias[min(col, u.n - 1u) / 4u]"
    : `vec4f(${[0, 1, 2, 3].map((c) => `bias[min(col + ${c}u, u.n - 1u)]`).join(", ")})`;
  return `
      fn start(col: u32) -> vec4f { return select(vec4f(0), ${loaded}, u.hasBias != 0u); }`;
}

/**
 * Adds the extra to the thread's results and applies the activation, in a separate loop. Next to the sums, which fill
 * all registers, every condition makes SwiftShader spill them (a quarter of the time of a product with 64 steps), and
 * every written-out load adds ten milliseconds of compiling on llvmpipe.
 */
function finishCode({ vectors, activates }: Form): string {
  const step = vectors ? 4 : 1;
  return `
      fn finish(row: u32, first: u32, batch: u32, rows: u32) {
        for (var r = row; r < min(row + rows, u.m); r++) {
          for (var col = first; col < min(first + 4u, u.n); col += ${step}u) {
            let at = place(r, col, batch) / ${step}u;
            if (u.hasExtra != 0u) { result[at] += extra[at]; }
            ${activates ? "after(at);" : ""}
          }
        }
      }`;
}

/** Rows that are written out one after another when a tile is stored; see `writeTile`. */
const ROWS_AT_ONCE = 2;

/**
 * Passes the tile's registers to `put` in a loop. Written out for every row, the stores took llvmpipe longer to compile
 * than the product itself; with one row per iteration, narrow products took a tenth longer.
 */
function writeTile(form: Form): string {
  const { rows, groups } = form;
  const together = rows === 1 ? 1 : ROWS_AT_ONCE;
  const chosen = (row: number, g: number): string => pickRow(`s${g}`, rows, together, (r) => `c${r + row}_${g}`);
  const sum = groups === 1 ? "s0" : "select(s0, s1, g == 1u)";
  const column = groups === 1 ? "col" : `col + g * ${form.wide && byRows(form.layout) ? 4 * form.lanes : 4}u`;
  const each = (call: string): string =>
    groups === 1 ? call : `for (var g = 0u; g < ${bound(groups, "m")}; g++) { ${call} }`;
  const row = (offset: number): string => `{
          ${lines(groups, (g) => chosen(offset, g))}
          ${each(`put(row + r + ${offset}u, ${column}, batch, ${sum});`)}
        }`;
  return `for (var r = 0u; r < ${bound(rows, "m")}; r += ${together}u) {
        ${lines(together, row)}
      }
      ${form.end === "extras" ? `${form.activates ? "" : "if (u.hasExtra != 0u)"} { ${each(`finish(row, ${column}, batch, ${bound(rows, "m")});`)} }` : ""}`;
}

function innerLoop(form: Form): string {
  const { layout } = form;
  if (layout === "rows-along-k") return rowsAlongK(form);
  if (layout === "rows" || layout === "any") return oneByOne(form);
  const main = alongK(form, "a", "b", "u.k", ["u.aRow", "u.bColumn"]);
  return layout === "along-k" ? main : main + alongK(form, "down", "up", "u.k2", ["u.k2", "u.k2"], "u.alpha2 * ");
}

export function productProgram(form: Form): GpuProgram {
  const { layout, rows, groups, broadcast, wide, activates } = form;
  const twice = layout === "along-k-twice";
  const extras = form.end === "extras";
  const read = layout === "rows" || layout === "any" ? "f32" : "vec4<f32>";
  const written = form.vectors ? "vec4<f32>" : "f32";
  const beside = afterBeside(activates, written);
  return {
    name: `lab-matmul-${layout}-${rows}-${groups}-${form.unroll}-${wide ? "wide" : "narrow"}-${broadcast}-${form.lanes}${form.vectors && !byRows(form.layout) ? "-vectors" : ""}${form.end === "extras" ? "" : `-${form.end}`}${activates ? ACTIVATED : ""}`,
    ...(broadcast > 0 ? { enable: ["subgroups"] } : {}),
    inputs: {
      a: read,
      b: layout === "any" ? "f32" : "vec4<f32>",
      ...(extras ? { bias: written, extra: written } : {}),
      ...(twice ? { down: "vec4<f32>" as const, up: "vec4<f32>" as const } : {}),
      ...(form.end === "scaled" ? { factors: "f32" as const } : {}),
      ...beside.inputs,
    },
    outputs: { result: written, ...beside.outputs },
    uniforms: {
      ...PRODUCT_UNIFORMS,
      alpha: "f32",
      ...(twice ? { k2: "u32" as const, alpha2: "f32" as const } : {}),
      ...(form.end === "scaled"
        ? { factorRow: "u32" as const, factorBatch: "u32" as const, factorOffset: "u32" as const }
        : {}),
      ...beside.uniforms,
    },
    workgroup: [form.lanes, 1],
    header: putCode(form) + afterCode(activates, written) + (extras ? startCode(form) + finishCode(form) : ""),
    body: `
      ${placement(form)}
      let batch = group.z;
      let aBase = u.aOffset + batch * u.aBatch;
      let bBase = u.bOffset + (batch / u.bShare) * u.bBatch;
      ${lines(groups, (g) => `let start${g} = ${extras ? `start(${columnOf(form, g)})` : "vec4f(0)"};`)}
      ${grid(rows, groups, (r, g) => `var c${r}_${g} = start${g};`)}
      ${innerLoop(form)}
      ${writeTile(form)}`,
  };
}

// The form of a product: the chosen tile in workgroup memory, or the register form that suits the shape (measurements:
// docs/performance.md).
//
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
    return { layout: "any", tile: chosen, loads, along, bounded, twice, end: spec.end ?? "extras", vectors: false };
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
