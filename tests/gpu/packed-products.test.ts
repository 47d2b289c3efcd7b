/**
 * Packed products against stock products of the same values, in both forms of the programs; half-precision ones, in the
 * form for cards, stay f32 where `shader-f16` is missing.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import { packedLinear, packedRows, unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { type PackedMatrix, packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { packRows, unpackRows } from "../../src/engine/gpu/packed/quantise.ts";
import { packedBytes, WEIGHT_STORAGES, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { halfPrograms, setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { customBufferBytes } from "../../src/engine/gpu/runtime/recording.ts";
import { setDispatchWork } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, packedOrPlain, randomTensor } from "../support/kernels.ts";
import { recordedGpu } from "../support/naga.ts";

// Half precision for f16 casts words to halves, which naga refuses (HALF_CAST of runtime/device.ts).
const naga = recordedGpu(/a matrix in f16 and products in half precision/);
let device: GPUDevice;
beforeAll(async () => {
  device = (await useGpu()).device;
});
afterEach(() => {
  setDispatchWork();
});

/** Rows of x, outputs, inner size, elements per block. */
const SIZES = [
  [1, 7, 31, 2 ** 25],
  [2, 33, 40, 400],
  [4, 13, 96, 2 ** 25],
  [8, 64, 32, 2 ** 25],
  [9, 5, 3, 2 ** 25],
  [65, 67, 100, 3000],
] as const;

function randomMatrix(
  storage: WeightStorage,
  n: number,
  k: number,
  block: number,
  scale = 0.1,
): { matrix: PackedMatrix; values: Float32Array<ArrayBuffer> } {
  const values = Float32Array.from({ length: n * k }, (_, i) => scale * Math.sin(i * 12.9898 + 78.233) * Math.cos(i));
  return { matrix: packMatrix(values, [n, k], storage, block), values };
}

describe.each(WEIGHT_STORAGES)("a matrix in %s", (storage) => {
  it.each(SIZES)(
    "%i rows times %i x %i in blocks of %i elements, with bias and low-rank branch",
    async (m, n, k, block) => {
      const before = customBufferBytes();
      const { matrix } = randomMatrix(storage, n, k, block);
      expect(matrix.bytes).toBe(packedBytes(storage, [n, k], block));
      const constants = [unpacked(matrix), randomTensor([n], 5)];
      await expectLikeStock(
        (...[x, plain, bias]) => packedOrPlain(matrix, [x as Tensor, plain as Tensor, bias]),
        [randomTensor([m, k], 1)],
        2e-5,
        1e-30,
        constants,
        // The tests of half precision below cover the other types without a branch in the form for cards.
        storage === "f32" ? [true, false] : [true],
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
      expect(customBufferBytes()).toBe(before);
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

/** Three decimal digits, the precision of f16. */
const TOLERANCE = 2e-3;

const halfMatrix = (...of: Parameters<typeof randomMatrix>): PackedMatrix => randomMatrix(...of).matrix;

async function valuesOf(tensor: Tensor): Promise<Float32Array> {
  const values = (await tensor.data()) as Float32Array;
  tensor.dispose();
  return values;
}

/** Value and gradient of x. */
async function both(x: Tensor, matrix: PackedMatrix, dy: Tensor, arithmetic: Arithmetic): Promise<Float32Array[]> {
  const { value, grads } = tf
    .engine()
    .gradients(() => packedLinear(x, matrix, undefined, undefined, arithmetic), [x], dy);
  return [await valuesOf(value), await valuesOf(grads[0] as Tensor)];
}

describe.each(["f16", "q8", "q4"] as const)("a matrix in %s and products in half precision", (storage) => {
  it.each([
    [9, 5, 3, 2 ** 25, 0],
    [65, 67, 100, 3000, 4],
    [18, 41, 1200, 24_000, 0],
  ])("%i rows times %i x %i in blocks of %i elements, branch of rank %i, both ways", async (m, n, k, block, rank) => {
    const matrix = halfMatrix(storage, n, k, block);
    const plain = unpacked(matrix);
    const branch = rank === 0 ? [] : [randomTensor([rank, k], 2, 0.1), randomTensor([n, rank], 3, 0.1)];
    await expectLikeStock(
      (...given) => {
        const [x, whole] = [given[0] as Tensor, given.at(-1) as Tensor];
        const [a, b] = given.slice(1) as [Tensor, Tensor];
        return packedOrPlain(matrix, [x, whole, undefined], rank === 0 ? undefined : { a, b, scale: 1.5 }, "f16");
      },
      [randomTensor([1, m, k], 1), ...branch],
      TOLERANCE,
      1e-30,
      [plain],
      // Software adapters multiply as above.
      [false],
    );
    plain.dispose();
    matrix.dispose();
  });

  it("computes in half precision on a card that can, and only there", async () => {
    const matrix = halfMatrix(storage, 40, 64, 2 ** 25);
    const [x, few] = [randomTensor([20, 64], 1), randomTensor([8, 64], 2)];
    const [dy, fewDy] = [randomTensor([20, 40], 3), randomTensor([8, 40], 4)];
    for (const card of [true, false]) {
      setAdapterKind(!card);
      const half = card && device.features.has("shader-f16");
      expect(halfPrograms()).toBe(half);
      const [plain, found] = [await both(x, matrix, dy, "f32"), await both(x, matrix, dy, "f16")];
      for (const [at, values] of found.entries()) {
        const same = values.every((value, i) => value === plain[at]?.[i]);
        expect(same, `${card ? "card" : "software"}, ${at === 0 ? "value" : "gradient"}`).toBe(!half);
      }
      // Decoding goes the same way in both.
      expect(await both(few, matrix, fewDy, "f16")).toEqual(await both(few, matrix, fewDy, "f32"));
    }
    tf.dispose([x, few, dy, fewDy]);
    matrix.dispose();
  });

  it("takes rows of any size, each for itself", async () => {
    setAdapterKind(false);
    const [n, k] = [33, 72];
    const sizes = [1, 1e-30, 1e30, 0, 3e4, 1e-8, 7e7, 1e-3, 65_504, 1e-38];
    for (const scale of [1e-6, 1, 1e6]) {
      const matrix = halfMatrix(storage, n, k, 2 ** 25, scale);
      const x = tf.tidy(() => randomTensor([sizes.length, k], 1).mul(tf.tensor2d(sizes, [sizes.length, 1])));
      const whole = unpacked(matrix);
      const rows = tf.tidy(() => tf.matMul(x as tf.Tensor2D, whole as tf.Tensor2D, false, true));
      const expected = await valuesOf(rows);
      const found = await valuesOf(packedLinear(x, matrix, undefined, undefined, "f16"));
      sizes.forEach((_, row) => {
        const own = expected.slice(row * n, (row + 1) * n);
        const largest = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        own.forEach((value, j) => {
          const error = Math.abs((found[row * n + j] as number) - value);
          // Subnormal numbers in f32 may be treated as 0.
          expect(error, `row ${row}`).toBeLessThanOrEqual(2 * TOLERANCE * largest + 1e-37);
        });
      });
      tf.dispose([x, whole]);
      matrix.dispose();
    }
  });

  it("an element that is NaN spoils its own row only", async () => {
    setAdapterKind(false);
    const matrix = halfMatrix(storage, 24, 40, 2 ** 25);
    const values = Float32Array.from({ length: 12 * 40 }, (_, i) => Math.sin(i));
    values[3 * 40 + 7] = Number.NaN;
    const x = tf.tensor2d(values, [12, 40]);
    const found = await valuesOf(packedLinear(x, matrix, undefined, undefined, "f16"));
    for (let row = 0; row < 12; row++) {
      expect(Number.isNaN(found[row * 24 + 5]), `row ${row}`).toBe(row === 3);
    }
    x.dispose();
    matrix.dispose();
  });

  it("has the same bits whole and in runs of rows", async () => {
    setAdapterKind(false);
    const matrix = halfMatrix(storage, 72, 40, 40 * 48);
    const [x, dy] = [randomTensor([200, 40], 1), randomTensor([200, 72], 2)];
    const whole = await both(x, matrix, dy, "f16");
    setDispatchWork(70 * 40 * 48);
    expect(await both(x, matrix, dy, "f16")).toEqual(whole);
    tf.dispose([x, dy]);
    matrix.dispose();
  });

  it("is nearer to exact sums than operands rounded to bfloat16 are", async () => {
    setAdapterKind(false);
    const [m, n, k] = [16, 24, 896];
    const matrix = halfMatrix(storage, n, k, 2 ** 25);
    const x = randomTensor([m, k], 1);
    const whole = unpacked(matrix);
    const [a, b] = [(await x.data()) as Float32Array, (await whole.data()) as Float32Array];
    const found = await valuesOf(packedLinear(x, matrix, undefined, undefined, "f16"));
    const sum = (row: number, column: number, round: (value: number) => number): number => {
      let total = 0;
      for (let i = 0; i < k; i++) total += round(a[row * k + i] as number) * round(b[column * k + i] as number);
      return total;
    };
    let [half, bfloat] = [0, 0];
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        const exact = sum(row, column, (value) => value);
        half += ((found[row * n + column] as number) - exact) ** 2;
        bfloat += (sum(row, column, toBfloat16) - exact) ** 2;
      }
    }
    expect(half).toBeLessThan(bfloat / 4);
    tf.dispose([x, whole]);
    matrix.dispose();
  });
});

it("naga computes the same values, and the same bits twice", naga);

const bits = new Uint32Array(1);
const single = new Float32Array(bits.buffer);

/** Nearest bfloat16, ties to even. */
function toBfloat16(value: number): number {
  single[0] = value;
  const word = bits[0] as number;
  bits[0] = (word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000;
  return single[0];
}
