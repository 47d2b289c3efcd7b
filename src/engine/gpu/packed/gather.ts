/** Rows of a packed matrix as f32: for the embedding, and as the oracle of all products. */
import { toTensor } from "../runtime/custom-op.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import { flatGrid, runProgram, unwritten } from "../runtime/program.ts";
import { u32s } from "../runtime/uniforms.ts";
import { type Tensor, tf } from "../tf.ts";
import type { PackedMatrix } from "./matrix.ts";
import { buffersOf } from "./product.ts";
import { hasScales, paddedWidth, type WeightStorage } from "./storage.ts";
import { blockInputs, readUnit, UNIT, UNITS_PER_SCALE, unpackHeader } from "./unpack.ts";

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
