/**
 * Products with packed rows for GPUs. Many rows of x: tiles of 64 × 64 results whose operands pass through workgroup
 * memory, so that every packed element is unpacked once a tile. Few rows (decoding): eight threads share a row of the
 * matrix and read it side by side, because the product then waits for memory.
 */
import type { GpuProgram } from "../program.ts";
import { BACKWARD_UNIFORMS, FORWARD_UNIFORMS } from "./register-programs.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Side of a tile of the result. */
export const TILE = 64;

/** Rows of x up to which the program for decoding runs. */
export const FEW_ROWS = 8;

/** Outputs a workgroup of the program for decoding computes. */
export const FEW_COLUMNS = 8;

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/** 16 × 16 threads, each 4 × 4 results, 32 steps of the inner size at a time: 16 KiB of workgroup memory. */
const MEMORY = `
  var<workgroup> left: array<f32, 2048>;
  var<workgroup> right: array<f32, 2048>;
  fn keep(at: u32, low: vec4f, high: vec4f) {
    for (var i = 0u; i < 4u; i++) { right[at + i * 64u] = low[i]; right[at + (i + 4u) * 64u] = high[i]; }
  }`;

/** After both halves are in place: 32 steps for the thread's 4 × 4 results. */
const MULTIPLY = `
  workgroupBarrier();
  for (var k = 0u; k < u.depth; k++) {
    let b = vec4f(right[k * 64u + tx], right[k * 64u + tx + 16u], right[k * 64u + tx + 32u], right[k * 64u + tx + 48u]);
    ${lines(4, (r) => `c${r} += left[k * 64u + ty + ${16 * r}u] * b;`)}
  }
  workgroupBarrier();`;

const THREAD = `
  let index = local.y * 16u + local.x;
  let tx = local.x;
  let ty = local.y;
  let row0 = group.y * 64u;
  let col0 = group.x * 64u;
  ${lines(4, (r) => `var c${r} = vec4f(0);`)}`;

/** 32, but not as a constant: compilers of software adapters would unroll the loop for seconds. */
const DEPTH = { depth: "u32" } as const;

/** y[:, first + j] = factor · x · w[j]ᵀ (+ bias); grid: [columns / 64, rows / 64]. */
export function tiledForward(storage: WeightStorage): GpuProgram {
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-forward-tiles`,
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32" },
    outputs: { result: "f32" },
    uniforms: { ...FORWARD_UNIFORMS, ...DEPTH },
    workgroup: [16, 16],
    header: `${unpackHeader(storage)} ${MEMORY}
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        var value = u.factor * sum;
        if (u.hasBias != 0u) { value += bias[u.first + col]; }
        result[row * u.width + u.first + col] = value;
      }`,
    body: `${THREAD}
      // Thread i brings one unit of a row of x and one of a packed row: row i / 4 of the tile, unit i % 4.
      let line = index / 4u;
      let part = index % 4u;
      let xrow = min(row0 + line, u.m - 1u) * 2u * u.units;
      let brow = (u.skip + min(col0 + line, u.n - 1u)) * u.rowUnits;
      for (var at = 0u; at < u.units; at += 4u) {
        let unit = at + part;
        if (unit < u.units) {
          let al = x[xrow + 2u * unit];
          let ah = x[xrow + 2u * unit + 1u];
          for (var i = 0u; i < 4u; i++) {
            left[(part * 8u + i) * 64u + line] = al[i];
            left[(part * 8u + i + 4u) * 64u + line] = ah[i];
          }
          ${readUnit(storage, "b", "brow + unit")}
          let s = ${scaled ? `scale((brow + unit) / ${UNITS_PER_SCALE}u)` : "1.0"};
          keep(part * 512u + line, s * bl, s * bh);
        } else {
          for (var i = 0u; i < 8u; i++) { left[(part * 8u + i) * 64u + line] = 0.0; }
          keep(part * 512u + line, vec4f(0), vec4f(0));
        }
        ${MULTIPLY}
      }
      for (var c = 0u; c < 4u; c++) {
        ${lines(4, (r) => `put(row0 + ty + ${16 * r}u, col0 + tx + 16u * c, c${r}[c]);`)}
      }`,
  };
}

/** dX (+)= factor · dy[:, first + j] · w[j]; grid: [columns of dX / 64, rows / 64]. */
export function tiledBackward(storage: WeightStorage): GpuProgram {
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-backward-tiles`,
    inputs: { dy: "f32", ...blockInputs(storage) },
    outputs: { result: "f32" },
    uniforms: { ...BACKWARD_UNIFORMS, ...DEPTH },
    workgroup: [16, 16],
    header: `${unpackHeader(storage)} ${MEMORY}
      fn keepRow(at: u32, low: vec4f, high: vec4f) {
        for (var i = 0u; i < 4u; i++) { right[at + i] = low[i]; right[at + i + 4u] = high[i]; }
      }
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.k) { return; }
        let at = row * u.k + col;
        var value = u.factor * sum;
        if (u.accumulate != 0u) { value += result[at]; }
        result[at] = value;
      }`,
    body: `${THREAD}
      // Of dy, thread i brings eight rows of column i % 32; of the matrix, unit i % 8 of row i / 8.
      let line = index / 8u;
      let part = index % 8u;
      let unit = col0 / 8u + part;
      for (var at = 0u; at < u.n; at += 32u) {
        let j = at + index % 32u;
        for (var i = 0u; i < 8u; i++) {
          let r = index / 32u + 8u * i;
          var value = 0.0;
          if (j < u.n && row0 + r < u.m) { value = dy[(row0 + r) * u.width + u.first + j]; }
          left[(index % 32u) * 64u + r] = value;
        }
        if (at + line < u.n && unit < u.rowUnits) {
          let place = (u.skip + at + line) * u.rowUnits + unit;
          ${readUnit(storage, "b", "place")}
          let s = ${scaled ? `scale(place / ${UNITS_PER_SCALE}u)` : "1.0"};
          keepRow(line * 64u + part * 8u, s * bl, s * bh);
        } else {
          keepRow(line * 64u + part * 8u, vec4f(0), vec4f(0));
        }
        ${MULTIPLY}
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
      // Thread r of the eight adds up row r.
      if (local.x >= ${rows}u || local.x >= u.m || col >= u.n) { return; }
      var sum = 0.0;
      for (var i = 0u; i < 8u; i++) { sum += parts[local.y * ${8 * rows}u + 8u * local.x + i]; }
      sum *= u.factor;
      if (u.hasBias != 0u) { sum += bias[u.first + col]; }
      result[local.x * u.width + u.first + col] = sum;`,
  };
}
