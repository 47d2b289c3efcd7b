/** Products with packed matrices against stock products with what they stand for, in both forms of the programs. */
import { beforeAll, describe, expect, it } from "vitest";
import { packedRows, unpacked } from "../../src/engine/gpu/packed/gather.ts";
import { packedLinear } from "../../src/engine/gpu/packed/linear.ts";
import { type PackedMatrix, packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { packRows, unpackRows } from "../../src/engine/gpu/packed/quantise.ts";
import { packedBytes, WEIGHT_STORAGES, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { customBufferBytes } from "../../src/engine/gpu/runtime/raw-buffers.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, packedOrPlain, randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

/** Rows of x, outputs, inner size, elements of a block. */
const SIZES = [
  [1, 1, 1, 8],
  [1, 7, 31, 2 ** 25],
  [1, 96, 64, 2 ** 25],
  [2, 33, 40, 400],
  [4, 13, 96, 2 ** 25],
  [7, 70, 72, 1500],
  [8, 64, 32, 2 ** 25],
  [9, 5, 3, 2 ** 25],
  [65, 67, 100, 3000],
  [130, 129, 136, 2 ** 25],
  [18, 101, 200, 5000],
] as const;

function randomMatrix(
  storage: WeightStorage,
  n: number,
  k: number,
  block: number,
): { matrix: PackedMatrix; values: Float32Array<ArrayBuffer> } {
  const values = Float32Array.from({ length: n * k }, (_, i) => 0.1 * Math.sin(i * 12.9898 + 78.233) * Math.cos(i));
  return { matrix: packMatrix(values, [n, k], storage, block), values };
}

describe.each(WEIGHT_STORAGES)("a matrix in %s", (storage) => {
  it.each(SIZES)(
    "%i rows times %i x %i in blocks of %i elements, with bias and low-rank branch",
    async (m, n, k, block) => {
      const { matrix } = randomMatrix(storage, n, k, block);
      expect(matrix.bytes).toBe(packedBytes(storage, [n, k], block));
      const constants = [unpacked(matrix), randomTensor([n], 5)];
      await expectLikeStock(
        (...[x, plain, bias]) => packedOrPlain(matrix, [x as Tensor, plain as Tensor, bias]),
        [randomTensor([m, k], 1)],
        2e-5,
        1e-30,
        constants,
      );
      await expectLikeStock(
        (...[x, a, b, plain, bias]) =>
          packedOrPlain(matrix, [x as Tensor, plain as Tensor, bias], { a: a as Tensor, b: b as Tensor, scale: 1.5 }),
        [randomTensor([1, m, k], 1), randomTensor([4, k], 2), randomTensor([n, 4], 3)],
        2e-5,
        1e-30,
        constants,
      );
      tf.dispose(constants);
      matrix.dispose();
      expect(customBufferBytes()).toBe(0);
    },
  );

  it("holds on the GPU what the host packed", async () => {
    const [n, k] = [37, 75];
    const { matrix, values } = randomMatrix(storage, n, k, 8 * 96);
    const whole = unpacked(matrix);
    const found = (await whole.data()) as Float32Array;
    for (const { first, rows } of matrix.blocks) {
      const piece = values.slice(first * k, (first + rows) * k);
      const packed = packRows(storage, piece, rows, k);
      const expected = unpackRows(storage, packed as NonNullable<typeof packed>, rows, k);
      expected.forEach((value, i) => {
        expect(found[first * k + i]).toBeCloseTo(value, 6);
      });
    }
    expect(matrix.blocks.length).toBeGreaterThan(1);
    const ids = tf.tensor2d([36, 0, 8, 7, 99, -1], [2, 3], "int32");
    const rows = packedRows(matrix, ids);
    expect(rows.shape).toEqual([2, 3, k]);
    const gathered = (await rows.data()) as Float32Array;
    for (const [place, id] of [36, 0, 8, 7, 36, 0].entries()) {
      expect(gathered.subarray(place * k, (place + 1) * k)).toEqual(found.subarray(id * k, (id + 1) * k));
    }
    tf.dispose([whole, ids, rows]);
    matrix.dispose();
  });

  it("is cut into parts without copies", async () => {
    const { matrix } = randomMatrix(storage, 48, 40, 640);
    const x = randomTensor([3, 40], 8);
    const [whole, part] = tf.tidy(() => [
      packedLinear(x, matrix).slice([0, 11], [3, 26]),
      packedLinear(x, matrix.part(11, 26)),
    ]) as [Tensor, Tensor];
    expect(await part.data()).toEqual(await whole.data());
    tf.dispose([x, whole, part]);
    matrix.dispose();
  });
});
