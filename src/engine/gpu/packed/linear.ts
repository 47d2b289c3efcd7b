/** The linear layer with a packed weight: gradients for its input and low-rank branch, none for the weight. */

import { addLowRank, type Following, type LowRank } from "../kernels/linear.ts";
import { zerosBehind } from "../kernels/repeat.ts";
import { customKernels, suits, toTensor } from "../runtime/custom-op.ts";
import { type GpuProgram, programOnce, u32s } from "../runtime/pipelines.ts";
import { flatGrid, runProgram, unwritten } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";
import type { Arithmetic } from "./half.ts";
import type { PackedMatrix } from "./matrix.ts";
import { buffersOf, packedBackward, packedForward } from "./product.ts";
import { hasScales, paddedWidth, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNIT, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

// Rows of a packed matrix as f32: for the embedding, and as the oracle of all products.

const LANES = 64;

/** One thread per unit of a row. Only the block that holds the row writes it. Ids are clamped to the matrix. */
function gatherProgram(storage: WeightStorage): GpuProgram {
  return {
    name: `lab-packed-${storage}-gather`,
    inputs: { ids: "i32", ...blockInputs(storage) },
    outputs: { result: "f32" },
    uniforms: {
      rows: "u32",
      k: "u32",
      total: "i32",
      ...u32s("first n skip rowUnits"),
      factor: "f32",
    },
    workgroup: [LANES, 1],
    header: unpackHeader(storage),
    body: `
      let index = (group.y * groups.x + group.x) * ${LANES}u + local.x;
      let units = (u.k + 7u) / 8u;
      let row = index / units;
      let unit = index % units;
      if (row >= u.rows) { return; }
      let id = u32(clamp(ids[row], 0, u.total - 1));
      if (id < u.first || id >= u.first + u.n) { return; }
      let at = (u.skip + id - u.first) * u.rowUnits + unit;
      ${readUnit(storage, "b", "at")}
      let s = u.factor${hasScales(storage) ? ` * scale(at / ${UNITS_PER_SCALE}u)` : ""};
      for (var i = 0u; i < 4u; i++) {
        let k = 8u * unit + i;
        if (k < u.k) { result[row * u.k + k] = s * bl[i]; }
        if (k + 4u < u.k) { result[row * u.k + k + 4u] = s * bh[i]; }
      }`,
  };
}

/**
 * Rows `ids` of a matrix.
 * @param ids int32, any shape
 * @returns [...ids.shape, in] f32
 */
export function packedRows(matrix: PackedMatrix, ids: Tensor): Tensor {
  return tf.tidy(() => {
    const list = ids.toInt();
    const [total, k] = matrix.shape;
    const shape = [...ids.shape, k];
    if (ids.size === 0) return tf.zeros(shape);
    const into = { into: unwritten(shape) };
    const rowUnits = paddedWidth(matrix.storage, k) / UNIT;
    const grid = flatGrid(Math.ceil((ids.size * Math.ceil(k / UNIT)) / LANES));
    const program = programOnce(`packed-${matrix.storage}-gather`, () => gatherProgram(matrix.storage));
    for (const block of matrix.blocks) {
      const uniforms = [ids.size, k, total, block.first, block.rows, block.skip, rowUnits, block.unit];
      runProgram(program, [list, ...buffersOf(block)], [into], uniforms, grid);
    }
    return toTensor(into.into);
  });
}

/** The whole matrix in f32, [out, in]. */
export function unpacked(matrix: PackedMatrix): Tensor {
  return tf.tidy(() => packedRows(matrix, tf.range(0, matrix.shape[0], 1, "int32")));
}

/**
 * y = x Wᵀ (+ bias) (+ low-rank branch in f32). Weight and bias get no gradient: a packed layer is frozen.
 * @param x [..., in]
 * @param bias [out]
 * @param arithmetic precision of the product where the card supports it; the low-rank branch is f32
 * @param following an activation
 * @returns [..., out]
 */
export function packedLinear(
  x: Tensor,
  matrix: PackedMatrix,
  bias?: Tensor,
  lora?: LowRank,
  arithmetic: Arithmetic = "f32",
  following?: Following,
): Tensor {
  return tf.tidy(() => {
    const [outSize, inSize] = matrix.shape;
    const rows = x.reshape([-1, inSize]);
    const own = lora === undefined ? following : undefined;
    const y =
      customKernels() && suits(x)
        ? customProduct(rows, matrix, bias, arithmetic, own)
        : stockProduct(rows, matrix, bias);
    const sum = lora === undefined ? y : addLowRank(y, rows, lora, following);
    const shape = [...x.shape.slice(0, -1), outSize];
    return following?.end(sum, shape) ?? sum.reshape(shape);
  });
}

/** `packedLinear` in stock operations on the unpacked matrix: the oracle of the tests. */
function stockProduct(rows: Tensor, matrix: PackedMatrix, bias: Tensor | undefined): Tensor {
  const y: Tensor = tf.matMul(rows as tf.Tensor2D, unpacked(matrix) as tf.Tensor2D, false, true);
  return bias === undefined ? y : y.add(bias);
}

function customProduct(
  rows: Tensor,
  matrix: PackedMatrix,
  bias: Tensor | undefined,
  arithmetic: Arithmetic,
  following: Following | undefined,
): Tensor {
  const [outSize, inSize] = matrix.shape;
  const product = tf.customGrad((given) => {
    const input = given as Tensor;
    const missing = Math.ceil(inSize / UNIT) * UNIT - inSize;
    // Packed rows are padded with zeros; the input is padded only where its size is not a whole number of units.
    const x = zerosBehind(input, [0, missing]);
    return {
      value: toTensor(
        following?.by([rows.shape[0] as number, outSize], (after) =>
          packedForward(x, matrix, bias, arithmetic, after),
        ) ?? packedForward(x, matrix, bias, arithmetic),
      ),
      gradFunc: (dy: Tensor | Tensor[]) => toTensor(packedBackward(dy as Tensor, matrix, arithmetic)),
    };
  });
  return product(rows);
}
