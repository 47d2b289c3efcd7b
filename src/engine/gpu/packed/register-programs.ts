/**
 * Products with packed rows for software adapters: sums in registers, no workgroup memory, no barrier (reference:
 * webgpu.md §6.1). Sums are f32 whatever the storage.
 */
import type { GpuProgram } from "../program.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Threads of a workgroup. */
export const LANES = 8;

/** Output columns a thread of the forward product works on. */
export const COLUMNS = 4;

/** Rows of dY a thread of the backward product works on. */
export const BACK_ROWS = 4;

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/** Uniforms of both directions. Widths of x and dX count groups of four, those of packed rows count units. */
export const FORWARD_UNIFORMS = {
  m: "u32",
  /** Rows of the block that are used, and rows before them. */
  n: "u32",
  skip: "u32",
  units: "u32",
  rowUnits: "u32",
  /** Columns of the whole result, and of it those before this block. */
  width: "u32",
  first: "u32",
  hasBias: "u32",
  factor: "f32",
} as const;

/**
 * y[:, first + j] = factor · x · w[j]ᵀ (+ bias) for the rows j of one block.
 * @param rows rows of x a thread works on
 */
export function forwardProgram(storage: WeightStorage, rows: number): GpuProgram {
  const scaled = hasScales(storage);
  const sum = scaled ? "p" : "c";
  const step = `
    ${lines(COLUMNS, (c) => readUnit(storage, `b${c}`, `q${c} + unit`))}
    ${lines(
      rows,
      (r) => `{ let al = x[x${r} + 2u * unit]; let ah = x[x${r} + 2u * unit + 1u];
      ${sum}${r} += vec4f(${["0", "1", "2", "3"].map((c) => `dot(al, b${c}l) + dot(ah, b${c}h)`).join(", ")}); }`,
    )}`;
  const loop = scaled
    ? `
      for (var g = 0u; g * ${UNITS_PER_SCALE}u < u.units; g++) {
        ${lines(rows, (r) => `var p${r} = vec4f(0);`)}
        let end = min((g + 1u) * ${UNITS_PER_SCALE}u, u.units);
        for (var unit = g * ${UNITS_PER_SCALE}u; unit < end; unit++) { ${step} }
        let s = vec4f(${["0", "1", "2", "3"].map((c) => `scale(q${c} / ${UNITS_PER_SCALE}u + g)`).join(", ")});
        ${lines(rows, (r) => `c${r} += s * p${r};`)}
      }`
    : `for (var unit = 0u; unit < u.units; unit++) { ${step} }`;
  return {
    name: `lab-packed-${storage}-forward-${rows}`,
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32" },
    outputs: { result: "f32" },
    uniforms: FORWARD_UNIFORMS,
    workgroup: [LANES, 1],
    header: `${unpackHeader(storage)}
      fn put(row: u32, col: u32, sum: vec4f) {
        if (row >= u.m) { return; }
        for (var c = 0u; c < ${COLUMNS}u; c++) {
          let j = col + c;
          if (j >= u.n) { return; }
          var value = u.factor * sum[c];
          if (u.hasBias != 0u) { value += bias[u.first + j]; }
          result[row * u.width + u.first + j] = value;
        }
      }`,
    body: `
      let tile = (group.y * groups.x + group.x) * ${LANES}u + local.x;
      let tiles = (u.n + ${COLUMNS - 1}u) / ${COLUMNS}u;
      let row = (tile / tiles) * ${rows}u;
      let col = (tile % tiles) * ${COLUMNS}u;
      if (row >= u.m) { return; }
      ${lines(COLUMNS, (c) => `let q${c} = (u.skip + min(col + ${c}u, u.n - 1u)) * u.rowUnits;`)}
      ${lines(rows, (r) => `let x${r} = min(row + ${r}u, u.m - 1u) * 2u * u.units; var c${r} = vec4f(0);`)}
      ${loop}
      ${lines(rows, (r) => `put(row + ${r}u, col, c${r});`)}`,
  };
}

export const BACKWARD_UNIFORMS = {
  m: "u32",
  n: "u32",
  skip: "u32",
  /** Elements of a row of dX. */
  k: "u32",
  rowUnits: "u32",
  width: "u32",
  first: "u32",
  /** 1 to add to what the result holds. */
  accumulate: "u32",
  factor: "f32",
} as const;

/** dX (+)= factor · dy[:, first + j] · w[j], summed over the rows j of one block. */
export function backwardProgram(storage: WeightStorage): GpuProgram {
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-backward`,
    inputs: { dy: "f32", ...blockInputs(storage) },
    outputs: { result: "f32" },
    uniforms: BACKWARD_UNIFORMS,
    workgroup: [LANES, 1],
    header: `${unpackHeader(storage)}
      fn put(row: u32, col: u32, sum: vec4f) {
        if (row >= u.m) { return; }
        for (var c = 0u; c < 4u; c++) {
          if (col + c >= u.k) { return; }
          let at = row * u.k + col + c;
          var value = u.factor * sum[c];
          if (u.accumulate != 0u) { value += result[at]; }
          result[at] = value;
        }
      }`,
    body: `
      let tile = (group.y * groups.x + group.x) * ${LANES}u + local.x;
      let tiles = (u.k + 7u) / 8u;
      let row = (tile / tiles) * ${BACK_ROWS}u;
      let unit = tile % tiles;
      if (row >= u.m) { return; }
      ${lines(BACK_ROWS, (r) => `let d${r} = min(row + ${r}u, u.m - 1u) * u.width + u.first; var l${r} = vec4f(0); var h${r} = vec4f(0);`)}
      for (var j = 0u; j < u.n; j++) {
        let at = (u.skip + j) * u.rowUnits + unit;
        ${readUnit(storage, "b", "at")}
        ${scaled ? `let s = scale(at / ${UNITS_PER_SCALE}u);` : ""}
        ${lines(BACK_ROWS, (r) => `let e${r} = ${scaled ? "s * " : ""}dy[d${r} + j]; l${r} += e${r} * bl; h${r} += e${r} * bh;`)}
      }
      ${lines(BACK_ROWS, (r) => `put(row + ${r}u, 8u * unit, l${r}); put(row + ${r}u, 8u * unit + 4u, h${r});`)}`,
  };
}
