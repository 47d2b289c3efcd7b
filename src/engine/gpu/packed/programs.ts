/**
 * Products with packed rows: the packed operand of the generator of products (matmul/product.ts), in tiles for cards, so
 * that every packed element is unpacked once per tile, in f32 or the arithmetic of half.ts, or in registers for software
 * adapters, in f32 (reference: docs/spec/webgpu.md#61-kernels). Few rows on a card (decoding) are limited by memory: eight
 * threads read a row of the matrix side by side.
 */
import type { MatrixUnit, TileForm } from "../forms/records.ts";
import { ACTIVATED, afterBeside, afterCode } from "../matmul/activation-code.ts";
import { productProgram } from "../matmul/product.ts";
import { type Epilogue, lines, type Operand, type Phase, type ThreadTile } from "../matmul/product-form.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import type { Arithmetic } from "./half.ts";
import { hasScales, type WeightStorage } from "./storage.ts";
import { blockInputs, halvesHeader, readHalves, readUnit, UNIT, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

/** Uniforms of both directions. Widths of x and dX count groups of four, those of packed rows units. */
const FORWARD_UNIFORMS = {
  m: "u32",
  /** Number of used rows of the block, and of rows before them. */
  ...u32s("n skip units rowUnits"),
  /** Number of columns of the whole result, and of those before this block. */
  ...u32s("width first hasBias"),
  factor: "f32",
} as const;

const BACKWARD_UNIFORMS = {
  /** Number of used rows of the block, and of rows before them. */
  ...u32s("m k skip"),
  /** Elements per row of dX. */
  ...u32s("n rowUnits width first"),
  factor: "f32",
} as const;

/** Maximum rows of x for the decoding program. */
export const FEW_ROWS = 8;

/** Outputs per workgroup of the decoding program. */
export const FEW_COLUMNS = 8;

/** Additional inputs and uniforms of half precision; `firstRow` is the first row of the factors. */
function besides(type: Arithmetic): Pick<GpuProgram, "inputs" | "uniforms"> {
  if (type === "f32") return { inputs: {}, uniforms: {} };
  return { inputs: { rowFactors: "f32" }, uniforms: { firstRow: "u32", weightFactor: "f32" } };
}

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

/** The packed operand: units of eight elements of the block's rows. A thread's rows along K share their scales. */
function packedUnits(
  storage: WeightStorage,
  type: Arithmetic,
  operand: Pick<Operand, "along" | "base">,
  tiled: boolean,
): Operand {
  const [scaled, apart] = [hasScales(storage), operand.along && !tiled];
  const scaleAt = (address: string): string => `scale((${address}) / ${UNITS_PER_SCALE}u)`;
  const factors = (name: string): string => (scaled && !apart ? `${name}s * ` : "");
  return {
    ...operand,
    run: UNIT,
    perRun: "1u",
    perNext: "u.rowUnits",
    ...(type === "f16"
      ? {
          readTo: (name, address, inside) => readHalves(storage, name, address, "u.weightFactor", inside),
        }
      : {}),
    read: (name, address) => `
        ${readUnit(storage, `${name}w`, address)} ${scaled && !apart ? `let ${name}s = ${scaleAt(address)};` : ""}
        ${["l", "h"].map((part) => `let ${name}${part} = ${factors(name)}${name}w${part};`).join(" ")}`,
    shared: scaled && apart ? { runs: UNITS_PER_SCALE, factor: scaleAt } : undefined,
  };
}

function nameOf(
  storage: WeightStorage,
  direction: string,
  tile: TileForm | ThreadTile,
  type: Arithmetic,
  unit: MatrixUnit | undefined,
): string {
  const name = `lab-packed-${storage}-${direction}`;
  if (!("kind" in tile)) return `${name}-${tile.rows}-${tile.broadcast}`;
  const { m, n, k, rows, columns, split } = tile;
  const matrices =
    unit === undefined ? "" : `-matrices-${unit.m}-${unit.n}-${unit.k}-${unit.lanes}${unit.fixed ? "-fixed" : ""}`;
  return `${name}-tiles-${m}-${n}-${k}-${rows}-${columns}-${type}${matrices}${split === undefined ? "" : "-pieces"}`;
}

/** A form: a tile in workgroup memory, in either arithmetic and perhaps in subgroup matrices, or of threads, in f32. */
export interface PackedForm {
  readonly tile: TileForm | ThreadTile;
  readonly type: Arithmetic;
  /** Unit of a form with subgroup matrices, whose type is f16. */
  readonly unit?: MatrixUnit | undefined;
}

interface PackedProduct {
  readonly storage: WeightStorage;
  readonly direction: "forward" | "backward";
  readonly inputs: GpuProgram["inputs"];
  readonly uniforms: GpuProgram["uniforms"];
  readonly a: Omit<Operand, "read" | "along">;
  /** The elements of A at an address. */
  readonly read: (address: string) => string[];
  readonly b: string;
  readonly k: string;
  readonly epilogue: Omit<Epilogue, "value">;
  /** End of the name. */
  readonly last: string;
}

const isSplit = (tile: TileForm | ThreadTile): boolean => "kind" in tile && tile.split !== undefined;

/** The program of a form. One with `split` writes the products of every piece of K, [pieces, m, n], and adds nothing. */
function packedProgram(product: PackedProduct, { tile, type, unit }: PackedForm): GpuProgram {
  const { storage, direction, a, read, b, k, epilogue, last } = product;
  const { inputs, uniforms } = besides(type);
  const split = isSplit(tile);
  const first = split ? "batch * u.piece" : "0u";
  const phase: Phase = {
    a: scaledRows(type, { ...a, along: true }, read),
    b: packedUnits(storage, type, { along: direction === "forward", base: b }, "kind" in tile),
    first,
    last: split ? `min(${k}, ${first} + u.piece)` : k,
    end: k,
  };
  const value = (sum: string): string =>
    type === "f32" ? `u.factor * ${sum}` : `u.factor / u.weightFactor * ${sum} / rowFactors[u.firstRow + row]`;
  return productProgram(
    {
      name: `${nameOf(storage, direction, tile, type, unit)}${last}`,
      inputs: { ...product.inputs, ...blockInputs(storage), ...inputs },
      uniforms: { ...product.uniforms, ...uniforms, ...(split ? { piece: "u32" as const } : {}) },
      header: type === "f16" ? halvesHeader(storage) : unpackHeader(storage),
      phases: [phase],
      epilogue: split ? { place: "(batch * u.m + row) * u.n + col", value, activates: false } : { ...epilogue, value },
    },
    tile,
    type,
    unit,
  );
}

/** y[:, first + j] = factor · x · w[j]ᵀ (+ bias) for the rows j of one block, and its activation. */
export function forwardProgram(storage: WeightStorage, form: PackedForm, activates: boolean): GpuProgram {
  const product: PackedProduct = {
    storage,
    direction: "forward",
    inputs: { x: "vec4<f32>" },
    uniforms: FORWARD_UNIFORMS,
    a: { run: UNIT, base: "0u", perRun: "2u", perNext: "(2u * u.units)" },
    read: (address) => [`x[${address}]`, `x[${address} + 1u]`],
    b: "u.skip * u.rowUnits",
    k: `(${UNIT}u * u.units)`,
    epilogue: {
      place: "row * u.width + u.first + col",
      bias: { at: (col) => `(u.first + ${col})`, starts: false },
      activates,
    },
    last: "groups" in form.tile && form.tile.vectors ? "-vectors" : "",
  };
  return packedProgram(product, form);
}

/**
 * dX (+)= factor · dy[:, first + j] · w[j], summed over the rows j of one block. A tile with `vectors` loads dy in vectors;
 * then k, width and first are multiples of 4.
 * @param adds whether to add to the result
 */
export function backwardProgram(storage: WeightStorage, form: PackedForm, adds: boolean): GpuProgram {
  const { tile } = form;
  const fours = "kind" in tile && tile.vectors === true;
  const over = fours ? " / 4u" : "";
  const product: PackedProduct = {
    storage,
    direction: "backward",
    inputs: { dy: fours ? "vec4<f32>" : "f32" },
    uniforms: BACKWARD_UNIFORMS,
    a: { run: fours ? 4 : 1, base: `u.first${over}`, perRun: "1u", perNext: `(u.width${over})` },
    read: (address) => [`dy[${address}]`],
    b: "u.skip * u.rowUnits",
    k: "u.k",
    epilogue: { place: "row * u.n + col", adds, activates: false },
    last: `${tile.vectors ? "-vectors" : ""}${adds && !isSplit(tile) ? "-adding" : ""}`,
  };
  return packedProgram(product, form);
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
