/**
 * A frozen matrix in its own GPU buffers, in one of the packed forms; never a tensor
 * (docs/spec/webgpu.md#5-packed-weights).
 */
import { badInput, LabError } from "../../errors.ts";
import { dropBuffers, makeBuffer } from "../runtime/recording.ts";
import type { PackedRows } from "./quantise.ts";
import { packRows } from "./quantise.ts";
import { BLOCK_ELEMENTS, rowsPerBlock, type WeightStorage } from "./storage.ts";

/** Rows stored in one pair of buffers. */
export interface PackedBlock {
  /** Index in the matrix of the first used row of this block. */
  readonly first: number;
  /** Rows used. */
  readonly rows: number;
  /** Number of buffer rows before the first used one. */
  readonly skip: number;
  readonly values: GPUBuffer;
  /** Undefined for forms without scales. */
  readonly scales: GPUBuffer | undefined;
  readonly unit: number;
}

export class PackedMatrix {
  /** [out, in] */
  readonly shape: readonly [number, number];
  readonly storage: WeightStorage;
  readonly blocks: readonly PackedBlock[];

  constructor(shape: readonly [number, number], storage: WeightStorage, blocks: readonly PackedBlock[]) {
    this.shape = shape;
    this.storage = storage;
    this.blocks = blocks;
    if (blocks.reduce((sum, block) => sum + block.rows, 0) !== shape[0]) {
      throw new LabError("internal", `The blocks of a packed matrix do not add up to its ${shape[0]} rows`);
    }
  }

  /** Elements. */
  get size(): number {
    return this.shape[0] * this.shape[1];
  }

  /** Bytes of its buffers. */
  get bytes(): number {
    return this.#buffers().reduce((sum, buffer) => sum + buffer.size, 0);
  }

  /** Bytes of each block's values. */
  get blockBytes(): readonly number[] {
    return this.blocks.map(({ values }) => values.size);
  }

  /** `count` rows from `first` on, in the same buffers; the whole matrix owns them. */
  part(first: number, count: number): PackedMatrix {
    const end = first + count;
    const blocks = this.blocks
      .filter((block) => block.first < end && block.first + block.rows > first)
      .map((block): PackedBlock => {
        const from = Math.max(first, block.first);
        const to = Math.min(end, block.first + block.rows);
        return { ...block, first: from - first, rows: to - from, skip: block.skip + from - block.first };
      });
    return new PackedMatrix([count, this.shape[1]], this.storage, blocks);
  }

  dispose(): void {
    dropBuffers(this.#buffers());
  }

  #buffers(): GPUBuffer[] {
    return this.blocks.flatMap(({ values, scales }) => (scales === undefined ? [values] : [values, scales]));
  }
}

/** Uploads packed rows. @param first index of their first row in the matrix */
export function uploadBlock(packed: PackedRows, first: number, rows: number, label: string): PackedBlock {
  return {
    first,
    rows,
    skip: 0,
    values: makeBuffer(packed.values, label),
    scales: packed.scales.length === 0 ? undefined : makeBuffer(packed.scales, `${label} scales`),
    unit: packed.unit,
  };
}

/**
 * Packs a whole matrix from host memory.
 * @param values out · in finite elements
 * @throws LabError("bad-input") for NaN or infinite elements
 */
export function packMatrix(
  values: Float32Array<ArrayBuffer>,
  shape: readonly [number, number],
  storage: WeightStorage,
  blockElements: number = BLOCK_ELEMENTS,
): PackedMatrix {
  const [rows, inSize] = shape;
  const step = rowsPerBlock(storage, inSize, blockElements);
  const blocks: PackedBlock[] = [];
  for (let first = 0; first < rows; first += step) {
    const count = Math.min(step, rows - first);
    const packed = packRows(storage, values.subarray(first * inSize, (first + count) * inSize), count, inSize);
    if (packed === undefined) throw badInput("A matrix to be packed has NaN or infinite elements");
    blocks.push(uploadBlock(packed, first, count, `packed ${storage}`));
  }
  return new PackedMatrix(shape, storage, blocks);
}
