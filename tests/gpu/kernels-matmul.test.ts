import { beforeAll, describe, expect, it } from "vitest";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { canAddProduct, runProduct } from "../../src/engine/gpu/matmul/matmul-program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { distance, expectLikeStock, randomTensor } from "../support/kernels.ts";
import { expectSameBits } from "../support/same-bits.ts";

beforeAll(async () => {
  await useGpu();
});

/** The product in double precision. */
async function inDouble(
  a: Tensor,
  b: Tensor,
  sizes: readonly number[],
  tA: boolean,
  tB: boolean,
): Promise<Float32Array> {
  const [batch, m, n, k] = sizes as [number, number, number, number];
  const [x, y] = [await a.data(), await b.data()];
  const out = new Float32Array(batch * m * n);
  for (let z = 0; z < batch; z++)
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let l = 0; l < k; l++) {
          const left = x[(a.shape[0] === 1 ? 0 : z * m * k) + (tA ? l * m + i : i * k + l)] as number;
          const right = y[(b.shape[0] === 1 ? 0 : z * k * n) + (tB ? j * k + l : l * n + j)] as number;
          sum += left * right;
        }
        out[(z * m + i) * n + j] = sum;
      }
  return out;
}

const SIZES = [
  [1, 1, 1, 1],
  [1, 1, 7, 4],
  [1, 2, 351, 64],
  [1, 8, 8, 8],
  [1, 9, 5, 3],
  [1, 17, 33, 20],
  [3, 13, 16, 31],
  [6, 24, 39, 16],
  [1, 3, 4, 2500],
  [1, 70, 68, 130],
  [1, 1, 102, 9],
  [1, 1, 64, 7],
  [2, 2, 100, 12],
  [1, 3, 101, 21],
  [1, 8, 351, 10],
  [2, 9, 61, 8],
  // Few rows with so much work that they have their own forms.
  [1, 1, 1021, 300],
  [1, 2, 704, 400],
  [1, 5, 512, 520],
  [2, 8, 516, 511],
  [1, 16, 40, 64],
  [1, 31, 36, 20],
] as const;

describe("the matrix product", () => {
  it.each(SIZES)("batch %i, %i x %i over %i in all four layouts", async (batch, m, n, k) => {
    for (const tA of [false, true]) {
      for (const tB of [false, true]) {
        for (const shared of batch === 1 ? [false] : [false, true]) {
          const a = randomTensor(tA ? [batch, k, m] : [batch, m, k], 1) as tf.Tensor3D;
          const right = shared ? 1 : batch;
          const b = randomTensor(tB ? [right, n, k] : [right, k, n], 2) as tf.Tensor3D;
          const [y, again] = [tf.matMul(a, b, tA, tB), tf.matMul(a, b, tA, tB)];
          expect(y.shape).toEqual([batch, m, n]);
          const values = (await y.data()) as Float32Array;
          expect(distance(values, await inDouble(a, b, [batch, m, n, k], tA, tB))).toBeLessThan(5e-6);
          expectSameBits((await again.data()) as Float32Array, values);
          tf.dispose([a, b, y, again]);
        }
      }
    }
  });

  it.each([
    [1, 100, 12],
    [8, 351, 9],
    [19, 40, 16],
  ])("%i x %i over %i: NaN stays in its row and column, tiny and huge stay apart", async (m, n, k) => {
    for (const transposed of [false, true]) {
      const given = (rows: number, columns: number, seed: number): Promise<Float32Array> =>
        tf.tidy(() => randomTensor([rows, columns], seed)).data() as Promise<Float32Array>;
      const [x, y] = [await given(m, k, 1), await given(k, n, 2)];
      x.forEach((value, i) => {
        x[i] = value * (Math.floor(i / k) % 2 === 0 ? 1e30 : 1e-30);
      });
      const [badRow, badColumn] = [m - 1, n - 2];
      x[badRow * k + k - 1] = Number.NaN;
      y[(k - 1) * n + badColumn] = Number.POSITIVE_INFINITY;
      const product = tf.tidy(() => {
        const right = tf.tensor2d(y, [k, n]);
        return transposed
          ? tf.matMul(tf.tensor2d(x, [m, k]), tf.transpose(right), false, true)
          : tf.matMul(tf.tensor2d(x, [m, k]), right);
      });
      const found = await product.data();
      product.dispose();
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          const value = found[i * n + j] as number;
          if (i === badRow || j === badColumn) {
            expect(Number.isFinite(value), `${i}, ${j}`).toBe(false);
            continue;
          }
          let [sum, size] = [0, 0];
          for (let l = 0; l < k; l++) {
            const term = (x[i * k + l] as number) * (y[l * n + j] as number);
            sum += term;
            size += Math.abs(term);
          }
          expect(Math.abs(value - sum) / size, `${i}, ${j}`).toBeLessThan(1e-6);
        }
      }
    }
  });

  it("takes integers that were cast, whose buffer stays integer", async () => {
    const product = tf.tidy(() => tf.matMul(tf.tensor2d([[1, 2]], [1, 2], "int32").toFloat(), tf.tensor2d([[3], [4]])));
    expect(Array.from(await product.data())).toEqual([11]);
    product.dispose();
  });

  it("gives back nothing for nothing", async () => {
    const product = tf.tidy(() => tf.matMul(tf.zeros([0, 3]), tf.zeros([3, 2])));
    expect(product.shape).toEqual([0, 2]);
    expect((await product.data()).length).toBe(0);
    product.dispose();
  });
});

describe("the linear layer", () => {
  it.each([
    [1, 4, 4, 4],
    [3, 64, 176, 16],
    [11, 20, 7, 4],
    [9, 13, 5, 3],
    [40, 64, 64, 8],
  ])("%i rows, %i to %i, rank %i", async (rows, inSize, outSize, rank) => {
    const x = randomTensor([1, rows, inSize], 1);
    const weight = randomTensor([outSize, inSize], 2, 0.3);
    const bias = randomTensor([outSize], 3);
    const a = randomTensor([rank, inSize], 4, 0.3);
    const b = randomTensor([outSize, rank], 5, 0.3);
    const own = (...[x, weight, bias, a, b]: Tensor[]): Tensor =>
      linear(x as Tensor, weight as Tensor, bias, { a: a as Tensor, b: b as Tensor, scale: 2 });
    await expectLikeStock(own, [x, weight, bias, a, b]);
  });

  it("asks the rank and the width to be read four at a time for the joined form", () => {
    expect([canAddProduct(64, 16), canAddProduct(64, 6), canAddProduct(30, 16)]).toEqual([true, false, false]);
  });

  it("works without bias and branch", async () => {
    await expectLikeStock(
      (x, w) => linear(x as Tensor, w as Tensor),
      [randomTensor([5, 7], 1), randomTensor([3, 7], 2)],
    );
  });
});

it("a product with a bias cannot have a factor", () => {
  const [x, w, bias] = [randomTensor([3, 4], 1), randomTensor([5, 4], 2), randomTensor([5], 3)];
  const sizes = { batch: 1, aBatch: 1, bBatch: 1, m: 3, n: 5, k: 4, transposeA: false, transposeB: true };
  expect(() => runProduct(x, w, sizes, [3, 5], { bias, alpha: 2 })).toThrow(/cannot have a factor/);
  tf.dispose([x, w, bias]);
});
