/**
 * Products with packed rows for software adapters: sums in registers, no workgroup memory, no barrier (reference:
 * docs/spec/webgpu.md#61-kernels). Rows of x and dY are broadcast in subgroups of 4 or 8 lanes, as in
 * gpu/matmul/matmul-code.ts. Sums are f32 in every storage.
 */
import { builtInForms } from "../forms/active.ts";
import { ACTIVATED, afterBeside, afterCode } from "../matmul/activation-code.ts";
import { lines, loadsOf, pickRow, rowAddresses, rowOf, type Tile } from "../matmul/product-form.ts";
import { bound, type GpuProgram } from "../runtime/pipelines.ts";
import { u32s } from "../runtime/uniforms.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Output columns per thread of the forward product. */
export const COLUMNS = 4;

/** Threads per workgroup; one subgroup if rows are broadcast. */
export function lanesOf({ broadcast }: Tile): number {
  return broadcast === 0 ? builtInForms().lanes : broadcast;
}

const CELLS = [0, 1, 2, 3];

/**
 * Declares `row` and `at`, the index of the thread's run of columns out of `runs`. With a broadcast all threads of a
 * workgroup share their rows, and those beyond the last column keep running, because the subgroup needs them.
 */
function placement(tile: Tile, runs: string): string {
  const lanes = lanesOf(tile);
  if (tile.broadcast > 0) return `let row = group.y * ${tile.rows}u; let at = group.x * ${lanes}u + local.x;`;
  return `
      let index = (group.y * groups.x + group.x) * ${lanes}u + local.x;
      let row = (index / ${runs}) * ${tile.rows}u;
      let at = index % ${runs};
      if (row >= u.m) { return; }`;
}

const enabled = ({ broadcast }: Tile): Pick<GpuProgram, "enable"> => (broadcast > 0 ? { enable: ["subgroups"] } : {});

/** Uniforms of both directions. Widths of x and dX count groups of four, those of packed rows units. */
export const FORWARD_UNIFORMS = {
  m: "u32",
  /** Number of used rows of the block, and of rows before them. */
  ...u32s("n skip units rowUnits"),
  /** Number of columns of the whole result, and of those before this block. */
  ...u32s("width first hasBias"),
  factor: "f32",
} as const;

/**
 * Statements that write the columns from `col` on: `at` is their index in the result and `part` the thread's values
 * from the vector `sum`.
 * @param place index of the first column
 * @param end end of the columns
 */
function eachWritten(vectors: boolean, place: string, end: string, code: string): string {
  if (vectors) return `let at = (${place}) / 4u; let part = sum; ${code}`;
  return `for (var c = 0u; c < min(4u, ${end} - col); c++) { let at = ${place} + c; let part = sum[c]; ${code} }`;
}

/**
 * y[:, first + j] = factor · x · w[j]ᵀ (+ bias) for the rows j of one block.
 * @param vectors writes four columns at a time: n, width and first are multiples of 4
 * @param activates whether an activation is applied to the sums
 */
export function forwardProgram(storage: WeightStorage, tile: Tile, vectors: boolean, activates: boolean): GpuProgram {
  const { rows } = tile;
  const type = vectors ? "vec4<f32>" : "f32";
  const beside = afterBeside<typeof type>(activates, type);
  const scaled = hasScales(storage);
  const sum = scaled ? "p" : "c";
  const load = (name: string, offset: string): string =>
    loadsOf(tile, (i) => `let ${name}${i} = x[pa${i} + 2u * unit${offset}];`);
  const step = `
    ${lines(COLUMNS, (c) => readUnit(storage, `b${c}`, `q${c} + unit`))}
    ${load("low", "")}
    ${load("high", " + 1u")}
    ${lines(
      rows,
      (r) => `{ let al = ${rowOf(tile, r, "low")}; let ah = ${rowOf(tile, r, "high")};
      ${sum}${r} += vec4f(${CELLS.map((c) => `dot(al, b${c}l) + dot(ah, b${c}h)`).join(", ")}); }`,
    )}`;
  const loop = scaled
    ? `
      for (var g = 0u; g * ${UNITS_PER_SCALE}u < u.units; g++) {
        ${lines(rows, (r) => `var p${r} = vec4f(0);`)}
        let end = min((g + 1u) * ${UNITS_PER_SCALE}u, u.units);
        for (var unit = g * ${UNITS_PER_SCALE}u; unit < end; unit++) { ${step} }
        let s = vec4f(${CELLS.map((c) => `scale(q${c} / ${UNITS_PER_SCALE}u + g)`).join(", ")});
        ${lines(rows, (r) => `c${r} += s * p${r};`)}
      }`
    : `for (var unit = 0u; unit < u.units; unit++) { ${step} }`;
  return {
    name: `lab-packed-${storage}-forward-${rows}-${tile.broadcast}${vectors ? "-vectors" : ""}${activates ? ACTIVATED : ""}`,
    ...enabled(tile),
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: type, ...beside.inputs },
    outputs: { result: type, ...beside.outputs },
    uniforms: { ...FORWARD_UNIFORMS, ...beside.uniforms },
    workgroup: [lanesOf(tile), 1],
    header: `${unpackHeader(storage)} ${afterCode(activates, type)}
      fn put(row: u32, col: u32, sum: vec4f) {
        if ((row < u.m) & (col < u.n)) {
          ${eachWritten(vectors, "row * u.width + u.first + col", "u.n", "result[at] = u.factor * part;")}
        }
      }
      fn finish(row: u32, first: u32) {
        for (var r = row; r < min(row + ${bound(rows, "m")}, u.m); r++) {
          for (var col = first; col < min(first + 4u, u.n); col += ${vectors ? 4 : 1}u) {
            let at = (r * u.width + u.first + col) / ${vectors ? 4 : 1}u;
            if (u.hasBias != 0u) { result[at] += bias[(u.first + col) / ${vectors ? 4 : 1}u]; }
            ${activates ? "after(at);" : ""}
          }
        }
      }`,
    body: `
      let runs = (u.n + ${COLUMNS - 1}u) / ${COLUMNS}u;
      ${placement(tile, "runs")}
      let col = at * ${COLUMNS}u;
      ${lines(COLUMNS, (c) => `let q${c} = (u.skip + min(col + ${c}u, u.n - 1u)) * u.rowUnits;`)}
      ${rowAddresses(tile, "2u * u.units", "0u")}
      ${lines(rows, (r) => `var c${r} = vec4f(0);`)}
      ${loop}
      for (var r = 0u; r < ${bound(rows, "m")}; r++) {
        ${pickRow("sum", rows, 1, (r) => `c${r}`)}
        put(row + r, col, sum);
      }
      // Not added next to the sums: see finishCode of gpu/matmul/matmul-code.ts.
      ${activates ? "" : "if (u.hasBias != 0u)"} { finish(row, col); }`,
  };
}

export const BACKWARD_UNIFORMS = {
  ...u32s("m n skip"),
  /** Elements per row of dX. */
  ...u32s("k rowUnits width first"),
  factor: "f32",
} as const;

/**
 * dX (+)= factor · dy[:, first + j] · w[j], summed over the rows j of one block.
 * @param vectors writes four columns at a time: k is a multiple of 4
 * @param adds whether to add to the result
 */
export function backwardProgram(storage: WeightStorage, tile: Tile, vectors: boolean, adds: boolean): GpuProgram {
  const { rows } = tile;
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-backward-${rows}-${tile.broadcast}${vectors ? "-vectors" : ""}${adds ? "-adding" : ""}`,
    ...enabled(tile),
    inputs: { dy: "f32", ...blockInputs(storage) },
    outputs: { result: vectors ? "vec4<f32>" : "f32" },
    uniforms: BACKWARD_UNIFORMS,
    workgroup: [lanesOf(tile), 1],
    header: `${unpackHeader(storage)}
      fn put(row: u32, col: u32, sum: vec4f) {
        if (row >= u.m || col >= u.k) { return; }
        ${eachWritten(vectors, "row * u.k + col", "u.k", `result[at] = ${adds ? "result[at] + " : ""}u.factor * part;`)}
      }`,
    body: `
      let runs = (u.k + 7u) / 8u;
      ${placement(tile, "runs")}
      let unit = min(at, runs - 1u);
      ${rowAddresses(tile, "u.width", "u.first")}
      ${lines(rows, (r) => `var l${r} = vec4f(0); var h${r} = vec4f(0);`)}
      for (var j = 0u; j < u.n; j++) {
        let q = (u.skip + j) * u.rowUnits + unit;
        ${readUnit(storage, "b", "q")}
        ${scaled ? `let scaling = scale(q / ${UNITS_PER_SCALE}u); let sl = scaling * bl; let sh = scaling * bh;` : "let sl = bl; let sh = bh;"}
        ${loadsOf(tile, (i) => `let a${i} = dy[pa${i} + j];`)}
        ${lines(rows, (r) => `{ let s = ${rowOf(tile, r)}; l${r} += s * sl; h${r} += s * sh; }`)}
      }
      for (var r = 0u; r < ${bound(rows, "m")}; r++) {
        ${pickRow("low", rows, 1, (r) => `l${r}`)}
        ${pickRow("high", rows, 1, (r) => `h${r}`)}
        put(row + r, 8u * at, low);
        put(row + r, 8u * at + 4u, high);
      }`,
  };
}
