/**
 * Products with packed rows for GPUs. Many rows of x: tiles of 64 × 64 results whose operands pass through workgroup
 * memory, so that every packed element is unpacked once per tile; in f32 or as in half.ts. Few rows (decoding) are
 * limited by memory: eight threads read a row of the matrix side by side.
 */
import { lines } from "../matmul/product-form.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { type Arithmetic, HALF_RUN } from "./half.ts";
import { BACKWARD_UNIFORMS, FORWARD_UNIFORMS } from "./register-programs.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Side of a tile of the result. */
export const TILE = 64;

/** Maximum rows of x for the decoding program. */
export const FEW_ROWS = 8;

/** Outputs per workgroup of the decoding program. */
export const FEW_COLUMNS = 8;

/** 16 × 16 threads, each 4 × 4 results, 32 steps of the inner size at a time: 16 KiB of workgroup memory, 8 KiB in f16. */
const memory = (type: Arithmetic): string => `
  var<workgroup> left: array<${type}, 2048>;
  var<workgroup> right: array<${type}, 2048>;`;

/** One step along the inner size for the thread's 4 × 4 results. */
const step = (type: Arithmetic, sums: string): string => `
    let b = vec4<${type}>(right[k * 64u + tx], right[k * 64u + tx + 16u], right[k * 64u + tx + 32u], right[k * 64u + tx + 48u]);
    ${lines(4, (r) => `${sums}${r} += left[k * 64u + ty + ${16 * r}u] * b;`)}`;

const STEPS: Readonly<Record<Arithmetic, string>> = {
  f32: `for (var k = 0u; k < u.depth; k++) { ${step("f32", "c")} }`,
  f16: `for (var run = 0u; run < u.depth; run += ${HALF_RUN}u) {
    ${lines(4, (r) => `var h${r} = vec4<f16>(0);`)}
    for (var k = run; k < run + ${HALF_RUN}u; k++) { ${step("f16", "h")} }
    ${lines(4, (r) => `c${r} += vec4f(h${r});`)}
  }`,
};

/** 32 steps, once both operands are in workgroup memory. */
const multiply = (type: Arithmetic): string => `
  workgroupBarrier();
  ${STEPS[type]}
  workgroupBarrier();`;

/** 32, but not a constant: compilers of software adapters would take seconds to unroll the loop. */
const DEPTH = { depth: "u32" } as const;

/** Additions for half precision; `firstRow` is that of the factors. */
function besides(type: Arithmetic): Pick<GpuProgram, "enable" | "inputs" | "uniforms"> {
  if (type === "f32") return { inputs: {}, uniforms: DEPTH };
  return {
    enable: ["f16"],
    inputs: { rowFactors: "f32" },
    uniforms: { ...DEPTH, firstRow: "u32", weightFactor: "f32" },
  };
}

/** How operands enter workgroup memory, and how a sum of their products converts back. */
const CONVERSIONS: Readonly<Record<Arithmetic, string>> = {
  f32: `
  fn ofRow(row: u32, part: vec4f) -> vec4f { return part; }
  fn ofMatrix(part: vec4f) -> vec4f { return part; }
  fn whole(row: u32, sum: f32) -> f32 { return u.factor * sum; }`,
  f16: `
  fn ofRow(row: u32, part: vec4f) -> vec4<f16> { return vec4<f16>(rowFactors[u.firstRow + row] * part); }
  fn ofMatrix(part: vec4f) -> vec4<f16> { return vec4<f16>(u.weightFactor * part); }
  fn whole(row: u32, sum: f32) -> f32 { return u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row]; }`,
};

const THREAD = `
  let index = local.y * 16u + local.x;
  let tx = local.x;
  let ty = local.y;
  let row0 = group.y * 64u;
  let col0 = group.x * 64u;
  ${lines(4, (r) => `var c${r} = vec4f(0);`)}`;

/** y[:, first + j] = factor · x · w[j]ᵀ (+ bias); grid: [columns / 64, rows / 64]. */
export function tiledForward(storage: WeightStorage, type: Arithmetic): GpuProgram {
  const { inputs, uniforms, ...rest } = besides(type);
  return {
    name: `lab-packed-${storage}-forward-tiles-${type}`,
    ...rest,
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32", ...inputs },
    outputs: { result: "f32" },
    uniforms: { ...FORWARD_UNIFORMS, ...uniforms },
    workgroup: [16, 16],
    header: `${unpackHeader(storage)} ${memory(type)} ${CONVERSIONS[type]}
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        var value = whole(row, sum);
        if (u.hasBias != 0u) { value += bias[u.first + col]; }
        result[row * u.width + u.first + col] = value;
      }`,
    body: `${THREAD}
      // Thread i loads one unit of a row of x and one of a packed row: row i / 4 of the tile, unit i % 4.
      let line = index / 4u;
      let part = index % 4u;
      let row = min(row0 + line, u.m - 1u);
      let xrow = row * 2u * u.units;
      let brow = (u.skip + min(col0 + line, u.n - 1u)) * u.rowUnits;
      for (var at = 0u; at < u.units; at += 4u) {
        let unit = at + part;
        var al = vec4<${type}>(0); var ah = al; var bl = al; var bh = al;
        if (unit < u.units) {
          al = ofRow(row, x[xrow + 2u * unit]);
          ah = ofRow(row, x[xrow + 2u * unit + 1u]);
          ${readUnit(storage, "w", "brow + unit")}
          let s = ${hasScales(storage) ? `scale((brow + unit) / ${UNITS_PER_SCALE}u)` : "1.0"};
          bl = ofMatrix(s * wl);
          bh = ofMatrix(s * wh);
        }
        for (var i = 0u; i < 4u; i++) {
          let low = (part * 8u + i) * 64u + line;
          left[low] = al[i];
          left[low + 256u] = ah[i];
          right[low] = bl[i];
          right[low + 256u] = bh[i];
        }
        ${multiply(type)}
      }
      for (var c = 0u; c < 4u; c++) {
        ${lines(4, (r) => `put(row0 + ty + ${16 * r}u, col0 + tx + 16u * c, c${r}[c]);`)}
      }`,
  };
}

/** dX (+)= factor · dy[:, first + j] · w[j]; grid: [columns of dX / 64, rows / 64]. @param adds to the result */
export function tiledBackward(storage: WeightStorage, type: Arithmetic, adds: boolean): GpuProgram {
  const { inputs, uniforms, ...rest } = besides(type);
  return {
    name: `lab-packed-${storage}-backward-tiles-${type}${adds ? "-adding" : ""}`,
    ...rest,
    inputs: { dy: "f32", ...blockInputs(storage), ...inputs },
    outputs: { result: "f32" },
    uniforms: { ...BACKWARD_UNIFORMS, ...uniforms },
    workgroup: [16, 16],
    header: `${unpackHeader(storage)} ${memory(type)} ${CONVERSIONS[type]}
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.k) { return; }
        let at = row * u.k + col;
        result[at] = ${adds ? "result[at] + " : ""}whole(row, sum);
      }`,
    body: `${THREAD}
      // Thread i loads eight rows of column i % 32 of dy, and unit i % 8 of row i / 8 of the matrix.
      let line = index / 8u;
      let part = index % 8u;
      let unit = col0 / 8u + part;
      for (var at = 0u; at < u.n; at += 32u) {
        let j = at + index % 32u;
        for (var i = 0u; i < 8u; i++) {
          let r = index / 32u + 8u * i;
          var value = ${type}(0);
          if (j < u.n && row0 + r < u.m) { value = ofRow(row0 + r, vec4f(dy[(row0 + r) * u.width + u.first + j])).x; }
          left[(index % 32u) * 64u + r] = value;
        }
        var bl = vec4<${type}>(0); var bh = bl;
        if (at + line < u.n && unit < u.rowUnits) {
          let place = (u.skip + at + line) * u.rowUnits + unit;
          ${readUnit(storage, "w", "place")}
          let s = ${hasScales(storage) ? `scale(place / ${UNITS_PER_SCALE}u)` : "1.0"};
          bl = ofMatrix(s * wl);
          bh = ofMatrix(s * wh);
        }
        for (var i = 0u; i < 4u; i++) {
          right[line * 64u + part * 8u + i] = bl[i];
          right[line * 64u + part * 8u + i + 4u] = bh[i];
        }
        ${multiply(type)}
      }
      for (var c = 0u; c < 4u; c++) {
        ${lines(4, (r) => `put(row0 + ty + ${16 * r}u, col0 + tx + 16u * c, c${r}[c]);`)}
      }`,
  };
}

/** The forward product for up to eight rows of x; grid: columns / 8 workgroups. */
export function fewRowsForward(storage: WeightStorage, rows: number): GpuProgram {
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-forward-few-${rows}`,
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32" },
    outputs: { result: "f32" },
    uniforms: FORWARD_UNIFORMS,
    workgroup: [8, FEW_COLUMNS],
    header: `${unpackHeader(storage)}
      var<workgroup> parts: array<f32, ${8 * FEW_COLUMNS * rows}>;`,
    body: `
      let col = (group.y * groups.x + group.x) * ${FEW_COLUMNS}u + local.y;
      let q = (u.skip + min(col, u.n - 1u)) * u.rowUnits;
      ${lines(rows, (r) => `var c${r} = 0.0; let x${r} = min(${r}u, u.m - 1u) * 2u * u.units;`)}
      for (var unit = local.x; unit < u.units; unit += 8u) {
        ${readUnit(storage, "b", "q + unit")}
        let s = ${scaled ? `scale((q + unit) / ${UNITS_PER_SCALE}u)` : "1.0"};
        ${lines(rows, (r) => `c${r} += s * (dot(x[x${r} + 2u * unit], bl) + dot(x[x${r} + 2u * unit + 1u], bh));`)}
      }
      let place = local.y * ${8 * rows}u + local.x;
      ${lines(rows, (r) => `parts[place + ${8 * r}u] = c${r};`)}
      workgroupBarrier();
      // Thread r of the eight sums row r.
      if (local.x >= ${rows}u || local.x >= u.m || col >= u.n) { return; }
      var sum = 0.0;
      for (var i = 0u; i < 8u; i++) { sum += parts[local.y * ${8 * rows}u + 8u * local.x + i]; }
      sum *= u.factor;
      if (u.hasBias != 0u) { sum += bias[u.first + col]; }
      result[local.x * u.width + u.first + col] = sum;`,
  };
}
