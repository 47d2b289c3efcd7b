/** Products with packed matrices, block by block. */

import { builtInForms, formLimits, productForm } from "../forms/active.ts";
import type { ProductForm, ProductLayout, TileForm } from "../forms/records.ts";
import { ACTIVATED, type AfterSums } from "../matmul/activation-code.ts";
import { addPieces, piecesOf, runActivated } from "../matmul/piece-sums.ts";
import { gridOf } from "../matmul/product.ts";
import { MOST_ROWS, type ThreadTile } from "../matmul/product-form.ts";
import { multiplesOf4 } from "../matmul/register-forms.ts";
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
import { backwardProgram, FEW_COLUMNS, FEW_ROWS, fewRowsForward, forwardProgram, type PackedForm } from "./programs.ts";
import { paddedWidth, type WeightStorage } from "./storage.ts";
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
  readonly grid: (rows: number) => readonly [number, number, number];
  /** Uniforms that only this program has, for the run of rows from `from` on. */
  readonly last: (from: number) => readonly number[];
  /** Number of pieces of K that the program computes; their sum is another program. */
  readonly pieces: number;
}

/**
 * Rows per thread, and whether they are broadcast; they are not if some lanes would have no columns.
 * @param groups of four columns that a thread computes of the n
 */
function threadTile(m: number, n: number, groups: number, vectors: boolean): ThreadTile {
  const most = m === 1 ? 1 : m <= 4 ? 4 : m <= 8 ? 8 : MOST_ROWS;
  const broadcast = broadcastLanes();
  const shared = most % Math.max(1, broadcast) === 0 && n > 4 * groups * (3 * broadcast - 1) && m <= MAX_GROUPS * most;
  const wide = shared && broadcast > 0;
  const lanes = wide ? broadcast : builtInForms().lanes;
  const rows = shared ? most : Math.min(most, 8);
  return { rows, groups, unroll: 1, wide, apart: false, broadcast: wide ? broadcast : 0, lanes, vectors };
}

/**
 * A form of a product [m, n] with sums over k, in tiles where the chosen form has them.
 * @param groups of four columns of a thread
 * @param fours whether a tile may load A four elements at a time
 */
function plan(
  key: string,
  storage: WeightStorage,
  [m, n, k]: readonly [number, number, number],
  { form, type }: ReturnType<typeof formOf>,
  { groups, vectors, fours }: { readonly groups: number; readonly vectors: boolean; readonly fours: boolean },
  make: (form: PackedForm) => GpuProgram,
): Plan {
  if (form.kind !== "tiles") {
    const tile = threadTile(m, n, groups, vectors);
    const program = programOnce(`${key}-${JSON.stringify(tile)}`, () => make({ tile, type }));
    return { program, grid: (count) => [...gridOf(tile, count, n), 1], last: () => [], pieces: 1 };
  }
  const { split, vectors: loaded, ...rest } = form;
  const { length, count: pieces } = piecesOf(form, k);
  const tile = {
    ...rest,
    ...(fours && loaded ? { vectors: loaded } : {}),
    ...(pieces > 1 ? { split } : {}),
  } as TileForm;
  const unit = tile.matrices ? formLimits().unit : undefined;
  return {
    program: programOnce(`${key}-${JSON.stringify([tile, unit])}-${type}`, () => make({ tile, type, unit })),
    grid: (count) => [...gridOf(tile, count, n), pieces],
    last: (from) => [...(type === "f16" ? [from, weightFactor(storage)] : []), ...(pieces > 1 ? [length] : [])],
    pieces,
  };
}

function forwardPlan(
  storage: WeightStorage,
  sizes: readonly [number, number, number],
  chosen: ReturnType<typeof formOf>,
  vectors: boolean,
  activates: boolean,
): Plan {
  const [m, n] = sizes;
  const key = `packed-${storage}-forward${activates ? ACTIVATED : ""}`;
  if (chosen.form.kind === "tiles" && m <= FEW_ROWS) {
    const rows = m === 1 ? 1 : m <= 4 ? 4 : 8;
    const program = programOnce(`${key}-few-${rows}`, () => fewRowsForward(storage, rows, activates));
    return { program, grid: () => flatGrid(Math.ceil(n / FEW_COLUMNS)), last: () => [], pieces: 1 };
  }
  // A tile loads x in units, whatever the form says.
  return plan(key, storage, sizes, chosen, { groups: 1, vectors, fours: false }, (form) =>
    forwardProgram(storage, form, activates),
  );
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
  const chosen = formOf(matrix, wanted, m, "nt");
  const factors = chosen.type === "f16" ? [rowFactors(x)] : [];
  for (const block of matrix.blocks) {
    const vectors = multiplesOf4(block.rows, width, block.first);
    const activates = after !== undefined;
    const { program, grid, last, pieces } = forwardPlan(matrix.storage, [m, block.rows, k], chosen, vectors, activates);
    for (const run of rowRuns(m, block.rows * k)) {
      const { from, count } = run;
      const sizes = [count, block.rows, block.skip, units, rowUnits, width, block.first, bias === undefined ? 0 : 1];
      const inputs: ProgramInput[] = [rowsOf(x, run), ...buffersOf(block), ...factors];
      const own = after && {
        kind: after.kind,
        other: after.other && rowsOf({ ...after.other, shape: [m, width] }, run),
        sums: after.sums && into(after.sums, run),
      };
      const uniforms = [...sizes, block.unit, ...last(from)];
      if (pieces === 1) {
        const biased = [...inputs, bias ?? x];
        runActivated({ program, inputs: biased, values: into(y, run), uniforms, grid: grid(count) }, own, x);
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
  const chosen = formOf(matrix, wanted, m, "nn");
  const factors = chosen.type === "f16" ? [rowFactors(dy)] : [];
  matrix.blocks.forEach((block, index) => {
    const fours = multiplesOf4(block.rows, width, block.first);
    const adds = index > 0;
    const threads = { groups: 2, vectors: multiplesOf4(k), fours };
    const { program, grid, last, pieces } = plan(
      `packed-${matrix.storage}-backward-${adds}`,
      matrix.storage,
      [m, k, block.rows],
      chosen,
      threads,
      (form) => backwardProgram(matrix.storage, form, adds),
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
        addPieces(parts, into(dx, run), { adds });
        release(parts);
      }
    }
  });
  for (const own of factors) release(own);
  return dx;
}
