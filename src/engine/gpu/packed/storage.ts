/**
 * Forms in which a frozen matrix is stored on the GPU, and their size. A matrix [out, in] is stored row by row. Every
 * row is padded to a whole number of units, and long matrices are split into blocks of rows, so that no buffer exceeds
 * the smallest binding limit of WebGPU devices (docs/spec/webgpu.md#5-packed-weights).
 */

/**
 * f16: half precision with one factor per block. q8, q4: signed 8 or 4 bit numbers in groups of 32 along a row, each
 * group with a half-precision scale.
 */
export type WeightStorage = "f32" | "f16" | "q8" | "q4";

export const WEIGHT_STORAGES: readonly WeightStorage[] = ["f32", "f16", "q8", "q4"];

/** Elements that share a scale in q8 and q4. */
export const GROUP = 32;

/** Elements per block: in f32 exactly the 128 MiB that every device can bind. */
export const BLOCK_ELEMENTS = 2 ** 25;

const BITS: Readonly<Record<WeightStorage, number>> = { f32: 32, f16: 16, q8: 8, q4: 4 };

export function hasScales(storage: WeightStorage): storage is "q8" | "q4" {
  return storage === "q8" || storage === "q4";
}

/** Elements per row, including padding. */
export function paddedWidth(storage: WeightStorage, inSize: number): number {
  const unit = hasScales(storage) ? GROUP : 8;
  return Math.ceil(inSize / unit) * unit;
}

/** Rows of every block except the last. */
export function rowsPerBlock(storage: WeightStorage, inSize: number, blockElements: number = BLOCK_ELEMENTS): number {
  const rows = Math.max(1, Math.floor(blockElements / paddedWidth(storage, inSize)));
  return rows < 8 ? rows : rows - (rows % 8);
}

/** Bytes of the two buffers of a block of rows. */
export function blockBytes(
  storage: WeightStorage,
  inSize: number,
  rows: number,
): { readonly values: number; readonly scales: number } {
  const elements = rows * paddedWidth(storage, inSize);
  const scales = hasScales(storage) ? 4 * Math.ceil(elements / GROUP / 2) : 0;
  return { values: (elements * BITS[storage]) / 8, scales };
}

/** Bytes of a matrix on the GPU, including padding and scales. @param shape [out, in] */
export function packedBytes(
  storage: WeightStorage,
  shape: readonly [number, number],
  blockElements: number = BLOCK_ELEMENTS,
): number {
  const [rows, inSize] = shape;
  const step = rowsPerBlock(storage, inSize, blockElements);
  let sum = 0;
  for (let first = 0; first < rows; first += step) {
    const { values, scales } = blockBytes(storage, inSize, Math.min(step, rows - first));
    sum += values + scales;
  }
  return sum;
}
