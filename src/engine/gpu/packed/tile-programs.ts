/**
 * Products with packed rows for GPUs. Many rows of x: tiles of results whose operands pass through workgroup memory, so
 * that every packed element is unpacked once per tile; the tile is a form of forms/records.ts, and its arithmetic is
 * f32 or that of half.ts. Few rows (decoding) are limited by memory: eight threads read a row of the matrix side by
 * side.
 */
import { type MatrixUnit, type TileForm, tileThreads } from "../forms/records.ts";
import { ACTIVATED, afterBeside, afterCode } from "../matmul/activation-code.ts";
import { grid, lines } from "../matmul/product-form.ts";
import { bound, type GpuProgram } from "../runtime/pipelines.ts";
import { type Arithmetic, HALF_RUN } from "./half.ts";
import { matrixParts, type TileParts } from "./matrix-tiles.ts";
import { BACKWARD_UNIFORMS, FORWARD_UNIFORMS } from "./register-programs.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNIT, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Maximum rows of x for the decoding program. */
export const FEW_ROWS = 8;

/** Outputs per workgroup of the decoding program. */
export const FEW_COLUMNS = 8;

const memory = (type: Arithmetic, { m, n, k }: TileForm): string => `
  var<workgroup> left: array<${type}, ${k * m}>;
  var<workgroup> right: array<${type}, ${k * n}>;`;

/** Code of one step along the inner size for the results of a thread. */
function step(type: Arithmetic, { m, n, rows, columns }: TileForm, sums: string): string {
  const [down, across] = [m / rows, n / columns];
  const column = (g: number, c: number): string => `right[k * ${n}u + tx + ${across * (4 * g + c)}u]`;
  const groups = columns / 4;
  return `
    ${lines(groups, (g) => `let b${g} = vec4<${type}>(${[0, 1, 2, 3].map((c) => column(g, c)).join(", ")});`)}
    ${grid(rows, groups, (r, g) => `${sums}${r}_${g} += left[k * ${m}u + ty + ${down * r}u] * b${g};`)}`;
}

function steps(type: Arithmetic, tile: TileForm): string {
  if (type === "f32") return `for (var k = 0u; k < ${bound(tile.k, "m")}; k++) { ${step("f32", tile, "c")} }`;
  const groups = tile.columns / 4;
  // Written out and counted in ones: a compiler bounds no index that a loop raises by eight.
  return `for (var run = 0u; run < ${bound(tile.k / HALF_RUN, "m")}; run++) {
    ${grid(tile.rows, groups, (r, g) => `var h${r}_${g} = vec4<f16>(0);`)}
    ${lines(HALF_RUN, (i) => `{ let k = run * ${HALF_RUN}u + ${i}u; ${step("f16", tile, "h")} }`)}
    ${grid(tile.rows, groups, (r, g) => `c${r}_${g} += vec4f(h${r}_${g});`)}
  }`;
}

/** The parts of a program whose threads keep their results in registers. */
function registerParts(type: Arithmetic, tile: TileForm): TileParts {
  const { m, n, rows, columns } = tile;
  const [down, across, groups] = [m / rows, n / columns, columns / 4];
  return {
    enable: type === "f16" ? ["f16"] : [],
    threads: tileThreads(tile),
    header: "",
    begin: `
  let tx = index % ${across}u;
  let ty = index / ${across}u;
  ${grid(rows, groups, (r, g) => `var c${r}_${g} = vec4f(0);`)}`,
    multiply: `
  workgroupBarrier();
  ${steps(type, tile)}
  workgroupBarrier();`,
    end: `for (var c = 0u; c < 4u; c++) {
        ${grid(rows, groups, (r, g) => `put(row0 + ty + ${down * r}u, col0 + tx + ${across}u * (c + ${4 * g}u), c${r}_${g}[c]);`)}
      }`,
  };
}

/** Additional uniforms for half precision; `firstRow` is the first row of the factors. */
function besides(type: Arithmetic): Pick<GpuProgram, "inputs" | "uniforms"> {
  if (type === "f32") return { inputs: {}, uniforms: {} };
  return { inputs: { rowFactors: "f32" }, uniforms: { firstRow: "u32", weightFactor: "f32" } };
}

/** How operands are scaled into workgroup memory, and how a sum of their products is scaled back. */
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

const placement = ({ m, n }: TileForm, { begin }: TileParts): string => `
  let index = local.x;
  let row0 = group.y * ${m}u;
  let col0 = group.x * ${n}u;
  ${begin}`;

/** Stores eight steps of one line of a tile, from the vectors `low` and `high`, one below another. */
const spread = (into: string, lines: number, low: string, high: string): string => `
          for (var j = 0u; j < 4u; j++) {
            let cell = (part * 8u + j) * ${lines}u + line;
            ${into}[cell] = ${low}[j];
            ${into}[cell + ${4 * lines}u] = ${high}[j];
          }`;

const unpackedUnit = (storage: WeightStorage, place: string): string => `
            ${readUnit(storage, "w", place)}
            let s = ${hasScales(storage) ? `scale((${place}) / ${UNITS_PER_SCALE}u)` : "1.0"};
            bl = ofMatrix(s * wl);
            bh = ofMatrix(s * wh);`;

function name(
  storage: WeightStorage,
  direction: string,
  type: Arithmetic,
  { m, n, k, rows, columns }: TileForm,
  unit: MatrixUnit | undefined,
): string {
  const matrices =
    unit === undefined ? "" : `-matrices-${unit.m}-${unit.n}-${unit.k}-${unit.lanes}${unit.fixed ? "-fixed" : ""}`;
  return `lab-packed-${storage}-${direction}-tiles-${m}-${n}-${k}-${rows}-${columns}-${type}${matrices}`;
}

const partsOf = (type: Arithmetic, tile: TileForm, unit: MatrixUnit | undefined): TileParts =>
  unit === undefined ? registerParts(type, tile) : matrixParts(tile, unit);

/**
 * y[:, first + j] = factor · x · w[j]ᵀ (+ bias), and its activation; grid: [columns / n, rows / m] of the tile.
 * @param unit unit of a form with subgroup matrices, whose type is f16
 */
export function tiledForward(
  storage: WeightStorage,
  type: Arithmetic,
  tile: TileForm,
  activates: boolean,
  unit?: MatrixUnit,
): GpuProgram {
  const beside = afterBeside<"f32">(activates, "f32");
  const { inputs, uniforms } = besides(type);
  const parts = partsOf(type, tile, unit);
  const { m, n, k } = tile;
  const [threads, units] = [parts.threads, k / UNIT];
  return {
    name: name(storage, "forward", type, tile, unit) + (activates ? ACTIVATED : ""),
    enable: parts.enable,
    ...(parts.subgroupSize === undefined ? {} : { subgroupSize: parts.subgroupSize }),
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32", ...inputs, ...beside.inputs },
    outputs: { result: "f32", ...beside.outputs },
    uniforms: { ...FORWARD_UNIFORMS, ...uniforms, ...beside.uniforms },
    workgroup: [threads, 1],
    header: `${unpackHeader(storage)} ${memory(type, tile)} ${parts.header} ${CONVERSIONS[type]} ${afterCode(activates, "f32")}
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        var value = whole(row, sum);
        if (u.hasBias != 0u) { value += bias[u.first + col]; }
        let at = row * u.width + u.first + col;
        result[at] = value;
        ${activates ? "after(at);" : ""}
      }`,
    body: `${placement(tile, parts)}
      for (var at = 0u; at < u.units; at += ${units}u) {
        for (var i = index; i < ${bound((k * m) / UNIT, "m")}; i += ${threads}u) {
          let line = i / ${units}u;
          let part = i % ${units}u;
          let row = min(row0 + line, u.m - 1u);
          var al = vec4<${type}>(0); var ah = al;
          if (at + part < u.units) {
            let place = (row * u.units + at + part) * 2u;
            al = ofRow(row, x[place]);
            ah = ofRow(row, x[place + 1u]);
          }
          ${spread("left", m, "al", "ah")}
        }
        for (var i = index; i < ${bound((k * n) / UNIT, "m")}; i += ${threads}u) {
          let line = i / ${units}u;
          let part = i % ${units}u;
          var bl = vec4<${type}>(0); var bh = bl;
          if (at + part < u.units) {
            let place = (u.skip + min(col0 + line, u.n - 1u)) * u.rowUnits + at + part;
            ${unpackedUnit(storage, "place")}
          }
          ${spread("right", n, "bl", "bh")}
        }
        ${parts.multiply}
      }
      ${parts.end}`,
  };
}

/**
 * dX (+)= factor · dy[:, first + j] · w[j]; grid: [columns of dX / n, rows / m] of the tile. @param adds whether to add
 * to the result
 * @param tile loads dy in vectors if `vectors`; then n, width and first are multiples of 4
 */
export function tiledBackward(
  storage: WeightStorage,
  type: Arithmetic,
  adds: boolean,
  tile: TileForm,
  unit?: MatrixUnit,
): GpuProgram {
  const { inputs, uniforms } = besides(type);
  const parts = partsOf(type, tile, unit);
  const { m, n, k } = tile;
  const [threads, units, loads] = [parts.threads, n / UNIT, tile.vectors ? 4 : 1];
  return {
    name: `${name(storage, "backward", type, tile, unit)}${tile.vectors ? "-vectors" : ""}${adds ? "-adding" : ""}`,
    enable: parts.enable,
    ...(parts.subgroupSize === undefined ? {} : { subgroupSize: parts.subgroupSize }),
    inputs: { dy: tile.vectors ? "vec4<f32>" : "f32", ...blockInputs(storage), ...inputs },
    outputs: { result: "f32" },
    uniforms: { ...BACKWARD_UNIFORMS, ...uniforms },
    workgroup: [threads, 1],
    header: `${unpackHeader(storage)} ${memory(type, tile)} ${parts.header} ${CONVERSIONS[type]}
      fn put(row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.k) { return; }
        let at = row * u.k + col;
        result[at] = ${adds ? "result[at] + " : ""}whole(row, sum);
      }`,
    body: `${placement(tile, parts)}
      for (var at = 0u; at < u.n; at += ${k}u) {
        for (var i = index; i < ${bound((k * m) / loads, "m")}; i += ${threads}u) {
          let step = i % ${k / loads}u * ${loads}u;
          let line = i / ${k / loads}u;
          let j = at + step;
          let row = row0 + line;
          var value = vec4<${type}>(0);
          if (j < u.n && row < u.m) { value = ofRow(row, vec4f(dy[(row * u.width + u.first + j) / ${loads}u])); }
          ${lines(loads, (i) => `left[(step + ${i}u) * ${m}u + line] = value[${i}];`)}
        }
        for (var i = index; i < ${bound(k * units, "m")}; i += ${threads}u) {
          let line = i / ${units}u;
          let part = i % ${units}u;
          let unit = col0 / ${UNIT}u + part;
          var bl = vec4<${type}>(0); var bh = bl;
          if (at + line < u.n && unit < u.rowUnits) {
            let place = (u.skip + at + line) * u.rowUnits + unit;
            ${unpackedUnit(storage, "place")}
          }
          for (var c = 0u; c < 4u; c++) {
            let into = line * ${n}u + part * 8u + c;
            right[into] = bl[c];
            right[into + 4u] = bh[c];
          }
        }
        ${parts.multiply}
      }
      ${parts.end}`,
  };
}

/** The forward product for up to eight rows of x, and its activation; grid: columns / 8 workgroups. */
export function fewRowsForward(storage: WeightStorage, rows: number, activates: boolean): GpuProgram {
  const beside = afterBeside<"f32">(activates, "f32");
  const scaled = hasScales(storage);
  return {
    name: `lab-packed-${storage}-forward-few-${rows}${activates ? ACTIVATED : ""}`,
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32", ...beside.inputs },
    outputs: { result: "f32", ...beside.outputs },
    uniforms: { ...FORWARD_UNIFORMS, ...beside.uniforms },
    workgroup: [8, FEW_COLUMNS],
    header: `${unpackHeader(storage)} ${afterCode(activates, "f32")}
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
      let at = local.x * u.width + u.first + col;
      result[at] = sum;
      ${activates ? "after(at);" : ""}`,
  };
}
