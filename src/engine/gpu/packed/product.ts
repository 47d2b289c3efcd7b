/** Products with packed matrices, block by block. */

import { builtInForms } from "../forms/active.ts";
import { MOST_ROWS, type Tile } from "../matmul/product-form.ts";
import { multiplesOf4 } from "../matmul/register-forms.ts";
import { broadcastLanes, halfPrograms } from "../runtime/custom-kernels.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
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
import { backwardProgram, COLUMNS, forwardProgram, lanesOf } from "./register-programs.ts";
import { paddedWidth, type WeightStorage } from "./storage.ts";
import { FEW_COLUMNS, FEW_ROWS, fewRowsForward, TILE, tiledBackward, tiledForward } from "./tile-programs.ts";
import { UNIT } from "./unpack.ts";

const programs = new Map<string, GpuProgram>();

function cached(key: string, make: () => GpuProgram): GpuProgram {
  const made = programs.get(key) ?? make();
  programs.set(key, made);
  return made;
}

/** The buffers that a program binds for a block. */
export function buffersOf(block: PackedBlock): GPUBuffer[] {
  return block.scales === undefined ? [block.values] : [block.values, block.scales];
}

/** Rows of a [rows, width] tensor; the whole tensor itself if it has no others. */
function rowsOf(info: tf.TensorInfo, { from, count }: RowRange): tf.TensorInfo | Part {
  const [rows, width] = info.shape as [number, number];
  return count === rows ? info : { of: info, from: 4 * from * width, bytes: 4 * count * width };
}

function into(info: tf.TensorInfo, run: RowRange): OutputInto {
  const part = rowsOf(info, run);
  return "of" in part ? { into: info, part } : { into: info };
}

/** Steps of the inner size held in workgroup memory at a time. */
const DEPTH = 32;

/** Precision of a product of this many rows. Few rows are limited by memory, so half precision gains nothing. */
function arithmeticFor({ storage }: PackedMatrix, wanted: Arithmetic, m: number): Arithmetic {
  return storage !== "f32" && m > FEW_ROWS && halfPrograms() ? wanted : "f32";
}

interface Plan {
  readonly program: GpuProgram;
  readonly grid: (rows: number) => [number, number, number];
  /** Uniforms that only this program has, for the run of rows from `from` on. */
  readonly last: (from: number) => readonly number[];
}

/** Rows per thread, and whether they are broadcast: not where lanes would lack columns. */
function tileFor(m: number, runs: number): Tile {
  const rows = m === 1 ? 1 : m <= 4 ? 4 : m <= 8 ? 8 : MOST_ROWS;
  const broadcast = broadcastLanes();
  if (rows % Math.max(1, broadcast) !== 0 || runs < 3 * broadcast || m > MAX_GROUPS * rows) {
    return { rows: Math.min(rows, 8), broadcast: 0 };
  }
  return { rows, broadcast };
}

/** A program for software adapters. @param runs of columns, one per thread */
function registerPlan(key: string, make: (tile: Tile) => GpuProgram, m: number, runs: number): Plan {
  const tile = tileFor(m, runs);
  const lanes = lanesOf(tile);
  return {
    program: cached(`${key}-${tile.rows}-${tile.broadcast}`, () => make(tile)),
    grid: (count) => {
      const blocks = Math.ceil(count / tile.rows);
      return tile.broadcast > 0 ? [Math.ceil(runs / lanes), blocks, 1] : flatGrid(Math.ceil((runs * blocks) / lanes));
    },
    last: () => [tile.rows],
  };
}

/** A program in tiles, for GPUs. @param width of the result */
function tiledPlan(program: GpuProgram, storage: WeightStorage, type: Arithmetic, width: number): Plan {
  return {
    program,
    grid: (count) => [Math.ceil(width / TILE), Math.ceil(count / TILE), 1],
    last: (from) => (type === "f16" ? [DEPTH, from, weightFactor(storage)] : [DEPTH]),
  };
}

function forwardPlan(storage: WeightStorage, type: Arithmetic, m: number, n: number, vectors: boolean): Plan {
  const key = `${storage}-forward`;
  if (builtInForms().packed === "registers") {
    const make = (tile: Tile): GpuProgram => forwardProgram(storage, tile, vectors);
    return registerPlan(`${key}-${vectors}`, make, m, Math.ceil(n / COLUMNS));
  }
  if (m > FEW_ROWS) {
    const program = cached(`${key}-tiles-${type}`, () => tiledForward(storage, type));
    return tiledPlan(program, storage, type, n);
  }
  const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
  const program = cached(`${key}-few-${rows}`, () => fewRowsForward(storage, rows));
  return { program, grid: () => flatGrid(Math.ceil(n / FEW_COLUMNS)), last: () => [] };
}

function backwardPlan(storage: WeightStorage, type: Arithmetic, m: number, k: number, adds: boolean): Plan {
  const key = `${storage}-backward-${adds}`;
  if (builtInForms().packed === "registers") {
    const vectors = multiplesOf4(k);
    const make = (tile: Tile): GpuProgram => backwardProgram(storage, tile, vectors, adds);
    return registerPlan(`${key}-${vectors}`, make, m, Math.ceil(k / UNIT));
  }
  const program = cached(`${key}-tiles-${type}`, () => tiledBackward(storage, type, adds));
  return tiledPlan(program, storage, type, k);
}

/**
 * x Wᵀ (+ bias).
 * @param x [M, K], K the padded inner size the caller made a multiple of 8
 * @param bias [out]
 * @param wanted what to compute in where the card can
 * @returns [M, out]
 */
export function packedForward(
  x: tf.TensorInfo,
  matrix: PackedMatrix,
  bias: tf.TensorInfo | undefined,
  wanted: Arithmetic,
): tf.TensorInfo {
  const [m, k] = x.shape as [number, number];
  const [width] = matrix.shape;
  const y = unwritten([m, width]);
  const units = k / UNIT;
  const rowUnits = paddedWidth(matrix.storage, matrix.shape[1]) / UNIT;
  const type = arithmeticFor(matrix, wanted, m);
  const factors = type === "f16" ? [rowFactors(x)] : [];
  for (const block of matrix.blocks) {
    const vectors = multiplesOf4(block.rows, width, block.first);
    const { program, grid, last } = forwardPlan(matrix.storage, type, m, block.rows, vectors);
    for (const run of rowRuns(m, block.rows * k)) {
      const { from, count } = run;
      const sizes = [count, block.rows, block.skip, units, rowUnits, width, block.first, bias === undefined ? 0 : 1];
      const inputs: ProgramInput[] = [rowsOf(x, run), ...buffersOf(block), bias ?? x, ...factors];
      runProgram(program, inputs, [into(y, run)], [...sizes, block.unit, ...last(from)], grid(count));
      countWork(count * block.rows * k);
    }
  }
  for (const own of factors) release(own);
  return y;
}

/**
 * dY W, the gradient of x Wᵀ by x.
 * @param dy [M, out]
 * @param wanted what to compute in where the card can
 * @returns [M, in]
 */
export function packedBackward(dy: tf.TensorInfo, matrix: PackedMatrix, wanted: Arithmetic): tf.TensorInfo {
  const [m, width] = dy.shape as [number, number];
  const k = matrix.shape[1];
  const dx = unwritten([m, k]);
  const rowUnits = paddedWidth(matrix.storage, k) / UNIT;
  const type = arithmeticFor(matrix, wanted, m);
  const factors = type === "f16" ? [rowFactors(dy)] : [];
  matrix.blocks.forEach((block, index) => {
    const { program, grid, last } = backwardPlan(matrix.storage, type, m, k, index > 0);
    for (const run of rowRuns(m, block.rows * k)) {
      const { from, count } = run;
      const sizes = [count, block.rows, block.skip, k, rowUnits, width, block.first, block.unit];
      const inputs: ProgramInput[] = [rowsOf(dy, run), ...buffersOf(block), ...factors];
      runProgram(program, inputs, [into(dx, run)], [...sizes, ...last(from)], grid(count));
      countWork(count * block.rows * k);
    }
  });
  for (const own of factors) release(own);
  return dx;
}
