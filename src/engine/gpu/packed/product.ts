/** Products with packed matrices, block by block. */
import { onSoftwareAdapter } from "../own-kernels.ts";
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
import { BACK_ROWS, backwardProgram, COLUMNS, forwardProgram, LANES } from "./register-programs.ts";
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
    const { program, grid, tiled } = forwardPlan(matrix.storage, m, block.rows);
    for (const run of rowRuns(m, block.rows * k)) {
      const { count } = run;
      const sizes = [count, block.rows, block.skip, units, rowUnits, width, block.first, bias === undefined ? 0 : 1];
      const inputs: ProgramInput[] = [rowsOf(x, run), ...buffersOf(block), bias ?? x];
      const uniforms = [...sizes, block.unit, ...(tiled ? [DEPTH] : [])];
      runProgram(program, inputs, [into(y, run)], uniforms, grid(count));
      countWork(count * block.rows * k);
    }
  }
  return y;
}

function forwardPlan(
  storage: WeightStorage,
  m: number,
  n: number,
): { program: GpuProgram; grid: (m: number) => [number, number, number]; tiled: boolean } {
  if (onSoftwareAdapter()) {
    const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
    const program = cached(`${storage}-forward-${rows}`, () => forwardProgram(storage, rows));
    const tiles = (count: number): number => Math.ceil(n / COLUMNS) * Math.ceil(count / rows);
    return { program, grid: (count) => flatGrid(Math.ceil(tiles(count) / LANES)), tiled: false };
  }
  if (m <= FEW_ROWS) {
    const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
    const program = cached(`${storage}-few-${rows}`, () => fewRowsForward(storage, rows));
    return { program, grid: () => flatGrid(Math.ceil(n / FEW_COLUMNS)), tiled: false };
  }
  const program = cached(`${storage}-forward-tiles`, () => tiledForward(storage));
  return { program, grid: (count) => [Math.ceil(n / TILE), Math.ceil(count / TILE), 1], tiled: true };
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
  const software = onSoftwareAdapter();
  const { storage } = matrix;
  const program = software
    ? cached(`${storage}-backward`, () => backwardProgram(storage))
    : cached(`${storage}-backward-tiles`, () => tiledBackward(storage));
  const tiles = (count: number): number => Math.ceil(k / UNIT) * Math.ceil(count / BACK_ROWS);
  const grid = (count: number): [number, number, number] =>
    software ? flatGrid(Math.ceil(tiles(count) / LANES)) : [Math.ceil(k / TILE), Math.ceil(count / TILE), 1];
  matrix.blocks.forEach((block, index) => {
    for (const run of rowRuns(m, block.rows * k)) {
      const { count } = run;
      const sizes = [count, block.rows, block.skip, k, rowUnits, width, block.first, index === 0 ? 0 : 1, block.unit];
      const inputs: ProgramInput[] = [rowsOf(dy, run), ...buffersOf(block)];
      runProgram(program, inputs, [into(dx, run)], [...sizes, ...(software ? [] : [DEPTH])], grid(count));
      countWork(count * block.rows * k);
    }
  });
  return dx;
}
