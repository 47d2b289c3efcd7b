/** Products with packed matrices, block by block. */
import { MOST_ROWS, type Tile } from "../matmul-code.ts";
import { onSoftwareAdapter, subgroupSize } from "../own-kernels.ts";
import {
  flatGrid,
  type GpuProgram,
  type OutputInto,
  type Part,
  type ProgramInput,
  runProgram,
  unwritten,
} from "../program.ts";
import type { tf } from "../tf.ts";
import { countWork, type RowRange, rowRuns } from "../work-budget.ts";
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

/** What a program binds of a block. */
export function buffersOf(block: PackedBlock): GPUBuffer[] {
  return block.scales === undefined ? [block.values] : [block.values, block.scales];
}

/** Rows of a [rows, width] tensor; all of it as itself. */
function rowsOf(info: tf.TensorInfo, { from, count }: RowRange): tf.TensorInfo | Part {
  const [rows, width] = info.shape as [number, number];
  return count === rows ? info : { of: info, from: 4 * from * width, bytes: 4 * count * width };
}

function into(info: tf.TensorInfo, run: RowRange): OutputInto {
  const part = rowsOf(info, run);
  return "of" in part ? { into: info, part } : { into: info };
}

/** Blocks of rows that a grid can hold in one dimension. */
const MAX_ROW_BLOCKS = 65_535;

/** Steps of the inner size that pass through workgroup memory at once. */
const DEPTH = 32;

/**
 * x Wᵀ (+ bias).
 * @param x [M, K], K the padded inner size the caller made a multiple of 8
 * @param bias [out]
 * @returns [M, out]
 */
export function packedForward(x: tf.TensorInfo, matrix: PackedMatrix, bias: tf.TensorInfo | undefined): tf.TensorInfo {
  const [m, k] = x.shape as [number, number];
  const [width] = matrix.shape;
  const y = unwritten([m, width]);
  const units = k / UNIT;
  const rowUnits = paddedWidth(matrix.storage, matrix.shape[1]) / UNIT;
  for (const block of matrix.blocks) {
    const { program, grid, last } = forwardPlan(matrix.storage, m, block.rows);
    for (const run of rowRuns(m, block.rows * k)) {
      const { count } = run;
      const sizes = [count, block.rows, block.skip, units, rowUnits, width, block.first, bias === undefined ? 0 : 1];
      const inputs: ProgramInput[] = [rowsOf(x, run), ...buffersOf(block), bias ?? x];
      const uniforms = [...sizes, block.unit, ...last];
      runProgram(program, inputs, [into(y, run)], uniforms, grid(count));
      countWork(count * block.rows * k);
    }
  }
  return y;
}

interface Plan {
  readonly program: GpuProgram;
  readonly grid: (rows: number) => [number, number, number];
  /** Uniforms that only this program has. */
  readonly last: readonly number[];
}

/** Grid of a register program over so many runs of columns. */
function registerGrid(tile: Tile, runs: number): Plan["grid"] {
  const lanes = lanesOf(tile);
  return (count) => {
    const blocks = Math.ceil(count / tile.rows);
    return tile.broadcast > 0 ? [Math.ceil(runs / lanes), blocks, 1] : flatGrid(Math.ceil((runs * blocks) / lanes));
  };
}

/** Rows a thread works on, and whether they are handed round: not where too few columns would leave lanes without work. */
function tileFor(m: number, runs: number): Tile {
  const size = subgroupSize();
  const rows = m === 1 ? 1 : m <= 4 ? 4 : m <= 8 ? 8 : MOST_ROWS;
  const broadcast = size === 4 || size === 8 ? size : 0;
  if (rows % Math.max(1, broadcast) !== 0 || runs < 3 * broadcast || m > MAX_ROW_BLOCKS * rows) {
    return { rows: Math.min(rows, 8), broadcast: 0 };
  }
  return { rows, broadcast };
}

function forwardPlan(storage: WeightStorage, m: number, n: number): Plan {
  if (onSoftwareAdapter()) {
    const runs = Math.ceil(n / COLUMNS);
    const tile = tileFor(m, runs);
    const program = cached(`${storage}-forward-${tile.rows}-${tile.broadcast}`, () => forwardProgram(storage, tile));
    return { program, grid: registerGrid(tile, runs), last: [tile.rows] };
  }
  if (m <= FEW_ROWS) {
    const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
    const program = cached(`${storage}-few-${rows}`, () => fewRowsForward(storage, rows));
    return { program, grid: () => flatGrid(Math.ceil(n / FEW_COLUMNS)), last: [] };
  }
  const program = cached(`${storage}-forward-tiles`, () => tiledForward(storage));
  return { program, grid: (count) => [Math.ceil(n / TILE), Math.ceil(count / TILE), 1], last: [DEPTH] };
}

function backwardPlan(storage: WeightStorage, m: number, k: number): Plan {
  if (onSoftwareAdapter()) {
    const runs = Math.ceil(k / UNIT);
    const tile = tileFor(m, runs);
    const program = cached(`${storage}-backward-${tile.rows}-${tile.broadcast}`, () => backwardProgram(storage, tile));
    return { program, grid: registerGrid(tile, runs), last: [tile.rows] };
  }
  const program = cached(`${storage}-backward-tiles`, () => tiledBackward(storage));
  return { program, grid: (count) => [Math.ceil(k / TILE), Math.ceil(count / TILE), 1], last: [DEPTH] };
}

/**
 * dY W, the gradient of x Wᵀ by x.
 * @param dy [M, out]
 * @returns [M, in]
 */
export function packedBackward(dy: tf.TensorInfo, matrix: PackedMatrix): tf.TensorInfo {
  const [m, width] = dy.shape as [number, number];
  const k = matrix.shape[1];
  const dx = unwritten([m, k]);
  const rowUnits = paddedWidth(matrix.storage, k) / UNIT;
  const { program, grid, last } = backwardPlan(matrix.storage, m, k);
  matrix.blocks.forEach((block, index) => {
    for (const run of rowRuns(m, block.rows * k)) {
      const { count } = run;
      const sizes = [count, block.rows, block.skip, k, rowUnits, width, block.first, index === 0 ? 0 : 1, block.unit];
      const inputs: ProgramInput[] = [rowsOf(dy, run), ...buffersOf(block)];
      runProgram(program, inputs, [into(dx, run)], [...sizes, ...last], grid(count));
      countWork(count * block.rows * k);
    }
  });
  return dx;
}
