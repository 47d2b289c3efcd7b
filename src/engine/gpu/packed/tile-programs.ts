/**
 * Products with packed rows for GPUs. Many rows of x: tiled products (matmul/tile-product.ts), so that every packed
 * element is unpacked once per tile; the tile is a form of forms/records.ts, and its arithmetic is f32 or that of
 * half.ts. Few rows (decoding) are limited by memory: eight threads read a row of the matrix side by side.
 */
import { builtInForms } from "../forms/active.ts";
import type { MatrixUnit, TileForm } from "../forms/records.ts";
import { ACTIVATED, afterBeside, afterCode } from "../matmul/activation-code.ts";
import { lines, loadsOf, pickRow, rowAddresses, rowOf, type Tile } from "../matmul/product-form.ts";
import { type Operand, phaseCode, tileBegin, tileFields, tileParts } from "../matmul/tile-product.ts";
import { bound, type GpuProgram, u32s } from "../runtime/pipelines.ts";
import type { Arithmetic } from "./half.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, halvesHeader, readHalves, readUnit, UNIT, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

// Products with packed rows for software adapters: sums in registers, no workgroup memory, no barrier (reference:
// docs/spec/webgpu.md#61-kernels). Rows of x and dY are broadcast in subgroups of 4 or 8 lanes, as in
// gpu/matmul/matmul-code.ts. Sums are f32 in every storage.

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
const FORWARD_UNIFORMS = {
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

const BACKWARD_UNIFORMS = {
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

/** Maximum rows of x for the decoding program. */
export const FEW_ROWS = 8;

/** Outputs per workgroup of the decoding program. */
export const FEW_COLUMNS = 8;

/** Additional uniforms for half precision; `firstRow` is the first row of the factors. */
function besides(type: Arithmetic): Pick<GpuProgram, "inputs" | "uniforms"> {
  if (type === "f32") return { inputs: {}, uniforms: {} };
  return { inputs: { rowFactors: "f32" }, uniforms: { firstRow: "u32", weightFactor: "f32" } };
}

/** WGSL of a sum of products without the factors of half precision. */
const WHOLE: Readonly<Record<Arithmetic, string>> = {
  f32: "fn whole(row: u32, sum: f32) -> f32 { return u.factor * sum; }",
  f16: `fn whole(row: u32, sum: f32) -> f32 {
        return u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row];
      }`,
};

/** An operand whose rows are scaled to the range of half precision. */
function scaledRows(type: Arithmetic, operand: Omit<Operand, "read">, read: (address: string) => string[]): Operand {
  return {
    ...operand,
    ...(type === "f16"
      ? { fixed: (load, line) => `let factor${load} = rowFactors[u.firstRow + min(${line}, u.m - 1u)];` }
      : {}),
    read: (name, address, load) =>
      read(address)
        .map((value, at) => `let ${name}${"lh"[at]} = ${type === "f16" ? `factor${load} * ` : ""}${value};`)
        .join(" "),
  };
}

/** The packed operand: units of eight elements of the block's rows. */
function packedUnits(storage: WeightStorage, type: Arithmetic, operand: Omit<Operand, "run" | "read">): Operand {
  const scales = (address: string): string[] => [
    ...(hasScales(storage) ? [`scale((${address}) / ${UNITS_PER_SCALE}u)`] : []),
    ...(type === "f16" ? ["u.weightFactor"] : []),
  ];
  return {
    ...operand,
    run: UNIT,
    ...(type === "f16"
      ? {
          readTo: (name, address, inside) =>
            readHalves(
              storage,
              name,
              address,
              `select(0.0, u.weightFactor * scale((${address}) / ${UNITS_PER_SCALE}u), ${inside})`,
            ),
        }
      : {}),
    read: (name, address) => `
        ${readUnit(storage, `${name}w`, address)}
        ${["l", "h"].map((part) => `let ${name}${part} = ${[...scales(address), `${name}w${part}`].join(" * ")};`).join(" ")}`,
  };
}

/** Functions with which a tiled program of this arithmetic unpacks. */
const unpacking = (storage: WeightStorage, type: Arithmetic): string =>
  (type === "f16" ? halvesHeader(storage) : undefined) ?? unpackHeader(storage);

/** Name of a program. */
function nameOf(
  storage: WeightStorage,
  direction: string,
  type: Arithmetic,
  { m, n, k, rows, columns, split }: TileForm,
  unit: MatrixUnit | undefined,
): string {
  const matrices =
    unit === undefined ? "" : `-matrices-${unit.m}-${unit.n}-${unit.k}-${unit.lanes}${unit.fixed ? "-fixed" : ""}`;
  return `lab-packed-${storage}-${direction}-tiles-${m}-${n}-${k}-${rows}-${columns}-${type}${matrices}${split === undefined ? "" : "-pieces"}`;
}

/** Uniforms, steps of K and result of a form whose workgroups compute one piece of K each, [pieces, m, columns]. */
function pieces(tile: TileForm, k: string): { uniforms: Record<string, "u32">; first: string; last: string } {
  if (tile.split === undefined) return { uniforms: {}, first: "0u", last: k };
  const first = "group.z * u.piece";
  return { uniforms: { piece: "u32" }, first, last: `min(${k}, ${first} + u.piece)` };
}

/** WGSL function that writes a sum of a piece. @param columns of the piece */
const putPiece = (columns: string): string => `
      fn put(piece: u32, row: u32, col: u32, sum: f32) {
        if (row < u.m && col < ${columns}) { result[(piece * u.m + row) * ${columns} + col] = whole(row, sum); }
      }`;

/**
 * y[:, first + j] = factor · x · w[j]ᵀ (+ bias), and its activation; grid: [columns / n, rows / m] of the tile.
 * A form with `split` writes the product of every piece of K, without bias: [pieces, m, n].
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
  const parts = tileParts(type, tile, unit);
  const a = scaledRows(
    type,
    { run: UNIT, along: true, base: "row0 * u.units * 2u", perRun: "2u", perNext: "2u * u.units" },
    (address) => [`x[${address}]`, `x[${address} + 1u]`],
  );
  const b = packedUnits(storage, type, {
    along: true,
    base: "(u.skip + col0) * u.rowUnits",
    perRun: "1u",
    perNext: "u.rowUnits",
  });
  const k = `(${UNIT}u * u.units)`;
  const split = pieces(tile, k);
  return {
    name: nameOf(storage, "forward", type, tile, unit) + (activates ? ACTIVATED : ""),
    ...tileFields(parts),
    inputs: { x: "vec4<f32>", ...blockInputs(storage), bias: "f32", ...inputs, ...beside.inputs },
    outputs: { result: "f32", ...beside.outputs },
    uniforms: { ...FORWARD_UNIFORMS, ...uniforms, ...split.uniforms, ...beside.uniforms },
    header: `${unpacking(storage, type)} ${parts.header} ${WHOLE[type]} ${afterCode(activates, "f32")}
      ${
        tile.split === undefined
          ? `
      fn put(piece: u32, row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        var value = whole(row, sum);
        if (u.hasBias != 0u) { value += bias[u.first + col]; }
        let at = row * u.width + u.first + col;
        result[at] = value;
        ${activates ? "after(at);" : ""}
      }`
          : putPiece("u.n")
      }`,
    body: `
      ${tileBegin(tile, parts)}
      ${phaseCode({ a, b, ...split, end: k }, type, tile, parts)}
      ${parts.end((...at) => `put(group.z, ${at.join(", ")});`)}`,
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
  const parts = tileParts(type, tile, unit);
  const vectors = tile.vectors === true;
  const four = vectors ? " / 4u" : "";
  const split = pieces(tile, "u.n");
  const a = scaledRows(
    type,
    {
      run: vectors ? 4 : 1,
      along: true,
      base: `(row0 * u.width + u.first)${four}`,
      perRun: "1u",
      perNext: `u.width${four}`,
    },
    (address) => [`dy[${address}]`],
  );
  const b = packedUnits(storage, type, {
    along: false,
    base: `u.skip * u.rowUnits + col0 / ${UNIT}u`,
    perRun: "1u",
    perNext: "u.rowUnits",
  });
  return {
    name: `${nameOf(storage, "backward", type, tile, unit)}${vectors ? "-vectors" : ""}${adds ? "-adding" : ""}`,
    ...tileFields(parts),
    inputs: { dy: vectors ? "vec4<f32>" : "f32", ...blockInputs(storage), ...inputs },
    outputs: { result: "f32" },
    uniforms: { ...BACKWARD_UNIFORMS, ...uniforms, ...split.uniforms },
    header: `${unpacking(storage, type)} ${parts.header} ${WHOLE[type]}
      ${
        tile.split === undefined
          ? `
      fn put(piece: u32, row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.k) { return; }
        let at = row * u.k + col;
        result[at] = ${adds ? "result[at] + " : ""}whole(row, sum);
      }`
          : putPiece("u.k")
      }`,
    body: `
      ${tileBegin(tile, parts)}
      ${phaseCode({ a, b, ...split, end: "u.n" }, type, tile, parts)}
      ${parts.end((...at) => `put(group.z, ${at.join(", ")});`)}`,
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
