/** Products with packed matrices, block by block. */

import { formLimits, productForm } from "../forms/active.ts";
import type { MatrixUnit, ProductForm, ProductLayout, TileForm } from "../forms/records.ts";
import { ACTIVATED, type AfterSums } from "../matmul/activation-code.ts";
import { multiplesOf4 } from "../matmul/matmul-code.ts";
import { addPieces, piecesOf, runActivated } from "../matmul/piece-sums.ts";
import { MOST_ROWS, type Tile } from "../matmul/product-form.ts";
import { broadcastLanes, halfPrograms } from "../runtime/custom-op.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import {
  flatGrid,
  MAX_GROUPS,
  type OutputInto,
  type Part,
  type ProgramInput,
  release,
  runProgram,
  unwritten,
} from "../runtime/program.ts";
import { countWork, type RowRange, rowRuns } from "../runtime/work-budget.ts";
import type { tf } from "../tf.ts";
import { type Arithmetic, rowFactors, weightFactor } from "./half.ts";
import type { PackedBlock, PackedMatrix } from "./matrix.ts";
import { paddedWidth, type WeightStorage } from "./storage.ts";
import {
  backwardProgram,
  COLUMNS,
  FEW_COLUMNS,
  FEW_ROWS,
  fewRowsForward,
  forwardProgram,
  lanesOf,
  tiledBackward,
  tiledForward,
} from "./tile-programs.ts";
import { UNIT } from "./unpack.ts";

/** The buffers to bind for a block. */
export function buffersOf(block: PackedBlock): GPUBuffer[] {
  return block.scales === undefined ? [block.values] : [block.values, block.scales];
}

/** Rows of a [rows, width] tensor; the tensor itself if these are all its rows. */
function rowsOf(info: tf.TensorInfo, { from, count }: RowRange): tf.TensorInfo | Part {
  const [rows, width] = info.shape as [number, number];
  return count === rows ? info : { of: info, from: 4 * from * width, bytes: 4 * count * width };
}

function into(info: tf.TensorInfo, run: RowRange): OutputInto {
  const part = rowsOf(info, run);
  return "of" in part ? { into: info, part } : { into: info };
}

/**
 * Form and precision of a product of m rows with a packed matrix: "nt" forward, "nn" its gradient. Products of few rows
 * are limited by memory, so half precision gains nothing.
 */
function formOf(
  { storage, shape }: PackedMatrix,
  wanted: Arithmetic,
  m: number,
  layout: ProductLayout,
): { readonly form: ProductForm; readonly type: Arithmetic } {
  const [n, k] = layout === "nt" ? shape : [shape[1], shape[0]];
  const half = wanted === "f16" && storage !== "f32" && m > FEW_ROWS && halfPrograms();
  const form = productForm({ layout, epilogue: half ? "half" : "packed", storage, batch: 1, m, n, k });
  return { form, type: half && form.kind === "tiles" ? "f16" : "f32" };
}

interface Plan {
  readonly program: GpuProgram;
  readonly grid: (rows: number) => [number, number, number];
  /** Uniforms that only this program has, for the run of rows from `from` on. */
  readonly last: (from: number) => readonly number[];
  /** Number of pieces of K that the program computes; their sum is another program. */
  readonly pieces: number;
}

/** Rows per thread, and whether they are broadcast; they are not if some lanes would have no columns. */
function tileFor(m: number, runs: number): Tile {
  const rows = m === 1 ? 1 : m <= 4 ? 4 : m <= 8 ? 8 : MOST_ROWS;
  const broadcast = broadcastLanes();
  if (rows % Math.max(1, broadcast) !== 0 || runs < 3 * broadcast || m > MAX_GROUPS * rows) {
    return { rows: Math.min(rows, 8), broadcast: 0 };
  }
  return { rows, broadcast };
}

/**
 * A program for software adapters.
 * @param runs number of runs of columns, one per thread
 */
function registerPlan(key: string, make: (tile: Tile) => GpuProgram, m: number, runs: number): Plan {
  const tile = tileFor(m, runs);
  const lanes = lanesOf(tile);
  return {
    program: programOnce(`${key}-${tile.rows}-${tile.broadcast}`, () => make(tile)),
    grid: (count) => {
      const blocks = Math.ceil(count / tile.rows);
      return tile.broadcast > 0 ? [Math.ceil(runs / lanes), blocks, 1] : flatGrid(Math.ceil((runs * blocks) / lanes));
    },
    last: () => [],
    pieces: 1,
  };
}

/**
 * A tiled program for GPUs.
 * @param width width of the result
 * @param k length of the sums
 */
function tiledPlan(
  program: GpuProgram,
  storage: WeightStorage,
  type: Arithmetic,
  width: number,
  k: number,
  tile: TileForm,
): Plan {
  const { length, count: pieces } = piecesOf(tile, k);
  const piece = tile.split === undefined ? [] : [length];
  return {
    program,
    grid: (count) => [Math.ceil(width / tile.n), Math.ceil(count / tile.m), pieces],
    last: (from) => [...(type === "f16" ? [from, weightFactor(storage)] : []), ...piece],
    pieces,
  };
}

/** A form without pieces where K is too short for several. */
function unlessShort(form: TileForm, k: number): TileForm {
  const { split, ...whole } = form;
  return split === undefined || piecesOf(form, k).count > 1 ? form : whole;
}

/** The subgroup-matrix unit of a form that uses one. */
const unitOf = ({ matrices }: TileForm): MatrixUnit | undefined => (matrices ? formLimits().unit : undefined);

/** The part of a program's key that names its tile. */
const tileKey = (tile: TileForm): string => JSON.stringify([tile, unitOf(tile)]);

/** The tile of a form whose program loads the unpacked operand in only one way. */
const inSingles = ({ vectors, ...tile }: TileForm): TileForm => tile;

function forwardPlan(
  storage: WeightStorage,
  type: Arithmetic,
  [m, n, k]: readonly [number, number, number],
  vectors: boolean,
  form: ProductForm,
  activates: boolean,
): Plan {
  const key = `packed-${storage}-forward${activates ? ACTIVATED : ""}`;
  if (form.kind !== "tiles") {
    const make = (tile: Tile): GpuProgram => forwardProgram(storage, tile, vectors, activates);
    return registerPlan(`${key}-${vectors}`, make, m, Math.ceil(n / COLUMNS));
  }
  if (m > FEW_ROWS) {
    const tile = unlessShort(inSingles(form), k);
    const own = activates && tile.split === undefined;
    const make = (): GpuProgram => tiledForward(storage, type, tile, own, unitOf(tile));
    const program = programOnce(`${key}-${tileKey(tile)}-${type}`, make);
    return tiledPlan(program, storage, type, n, k, tile);
  }
  const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
  const program = programOnce(`${key}-few-${rows}`, () => fewRowsForward(storage, rows, activates));
  return { program, grid: () => flatGrid(Math.ceil(n / FEW_COLUMNS)), last: () => [], pieces: 1 };
}

/** @param fours whether dy can be loaded four elements at a time */
function backwardPlan(
  storage: WeightStorage,
  type: Arithmetic,
  [m, k, n]: readonly [number, number, number],
  adds: boolean,
  fours: boolean,
  form: ProductForm,
): Plan {
  const key = `packed-${storage}-backward-${adds}`;
  if (form.kind !== "tiles") {
    const vectors = multiplesOf4(k);
    const make = (tile: Tile): GpuProgram => backwardProgram(storage, tile, vectors, adds);
    return registerPlan(`${key}-${vectors}`, make, m, Math.ceil(k / UNIT));
  }
  const tile = unlessShort(fours ? form : inSingles(form), n);
  const own = adds && tile.split === undefined;
  const make = (): GpuProgram => tiledBackward(storage, type, own, tile, unitOf(tile));
  const program = programOnce(`${key}-${tileKey(tile)}-${type}`, make);
  return tiledPlan(program, storage, type, k, n, tile);
}

/**
 * x Wᵀ (+ bias).
 * @param x [M, K], K the inner size that the caller has padded to a multiple of 8
 * @param bias [out]
 * @param wanted precision of the product where the card supports it
 * @param after activation of the sums
 * @returns [M, out]
 */
export function packedForward(
  x: tf.TensorInfo,
  matrix: PackedMatrix,
  bias: tf.TensorInfo | undefined,
  wanted: Arithmetic,
  after?: AfterSums,
): tf.TensorInfo {
  const [m, k] = x.shape as [number, number];
  const [width] = matrix.shape;
  const y = unwritten([m, width]);
  const units = k / UNIT;
  const rowUnits = paddedWidth(matrix.storage, matrix.shape[1]) / UNIT;
  const { form, type } = formOf(matrix, wanted, m, "nt");
  const factors = type === "f16" ? [rowFactors(x)] : [];
  for (const block of matrix.blocks) {
    const vectors = multiplesOf4(block.rows, width, block.first);
    const activates = after !== undefined;
    const { program, grid, last, pieces } = forwardPlan(
      matrix.storage,
      type,
      [m, block.rows, k],
      vectors,
      form,
      activates,
    );
    for (const run of rowRuns(m, block.rows * k)) {
      const { from, count } = run;
      const sizes = [count, block.rows, block.skip, units, rowUnits, width, block.first, bias === undefined ? 0 : 1];
      const inputs: ProgramInput[] = [rowsOf(x, run), ...buffersOf(block), bias ?? x, ...factors];
      const own = after && {
        kind: after.kind,
        other: after.other && rowsOf({ ...after.other, shape: [m, width] }, run),
        sums: after.sums && into(after.sums, run),
      };
      const uniforms = [...sizes, block.unit, ...last(from)];
      if (pieces === 1) {
        runActivated({ program, inputs, values: into(y, run), uniforms, grid: grid(count) }, own, x);
        countWork(count * block.rows * k);
      } else {
        const parts = unwritten([pieces, count, block.rows]);
        runProgram(program, inputs, [{ into: parts }], uniforms, grid(count));
        countWork(count * block.rows * k);
        addPieces(parts, into(y, run), { width, first: block.first, bias, after: own });
        release(parts);
      }
    }
  }
  for (const own of factors) release(own);
  return y;
}

/**
 * dY W, the gradient of x Wᵀ by x.
 * @param dy [M, out]
 * @param wanted precision of the product where the card supports it
 * @returns [M, in]
 */
export function packedBackward(dy: tf.TensorInfo, matrix: PackedMatrix, wanted: Arithmetic): tf.TensorInfo {
  const [m, width] = dy.shape as [number, number];
  const k = matrix.shape[1];
  const dx = unwritten([m, k]);
  const rowUnits = paddedWidth(matrix.storage, k) / UNIT;
  const { form, type } = formOf(matrix, wanted, m, "nn");
  const factors = type === "f16" ? [rowFactors(dy)] : [];
  matrix.blocks.forEach((block, index) => {
    const fours = multiplesOf4(block.rows, width, block.first);
    const { program, grid, last, pieces } = backwardPlan(
      matrix.storage,
      type,
      [m, k, block.rows],
      index > 0,
      fours,
      form,
    );
    for (const run of rowRuns(m, block.rows * k)) {
      const { from, count } = run;
      const sizes = [count, block.rows, block.skip, k, rowUnits, width, block.first, block.unit];
      const inputs: ProgramInput[] = [rowsOf(dy, run), ...buffersOf(block), ...factors];
      const uniforms = [...sizes, ...last(from)];
      if (pieces === 1) {
        runProgram(program, inputs, [into(dx, run)], uniforms, grid(count));
        countWork(count * block.rows * k);
      } else {
        const parts = unwritten([pieces, count, k]);
        runProgram(program, inputs, [{ into: parts }], uniforms, grid(count));
        countWork(count * block.rows * k);
        addPieces(parts, into(dx, run), { adds: index > 0 });
        release(parts);
      }
    }
  });
  for (const own of factors) release(own);
  return dx;
}
