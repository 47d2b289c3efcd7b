/** Products that would take too long are cut into dispatches of whole rows, with the same numbers. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { conv2d } from "../../src/engine/gpu/kernels/conv.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { packedLinear } from "../../src/engine/gpu/packed/linear.ts";
import { packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { countsBetween, type GpuCounts, gpuCounts } from "../../src/engine/gpu/runtime/counters.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { DISPATCH_WORK, rowRuns, setDispatchWork } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { distance, randomTensor } from "../support/kernels.ts";
import { expectSameBits } from "../support/same-bits.ts";

beforeAll(useGpu);
afterEach(() => {
  setDispatchWork();
  setAdapterKind(true);
});

async function counted(work: () => Tensor): Promise<{ readonly values: Float32Array; readonly counts: GpuCounts }> {
  const before = gpuCounts();
  const y = tf.tidy(work);
  const values = (await y.data()) as Float32Array;
  y.dispose();
  return { values, counts: countsBetween(before, gpuCounts()) };
}

describe("runs of rows", () => {
  it("cover every row once, begin at whole steps and keep to the budget and to a grid of the narrowest tiles", () => {
    for (const rows of [1, 63, 64, 65, 1000, 4096, 4097, 2 ** 19, 600_000]) {
      for (const perRow of [1, 1e5, 2 ** 25, 2 ** 27]) {
        const runs = rowRuns(rows, perRow);
        let next = 0;
        for (const { from, count } of runs) {
          expect([from, from % 64, count > 0]).toEqual([next, 0, true]);
          expect(Math.ceil(count / 8)).toBeLessThanOrEqual(65_535);
          if (count > 64) expect(count * perRow).toBeLessThanOrEqual(DISPATCH_WORK);
          next = from + count;
        }
        expect(next).toBe(rows);
      }
    }
  });

  it("cut what published models ask for: 1,024 places of the 1B head, 4,096 of the widest layer of the 4B", () => {
    // The head comes in blocks of at most 2^25 elements.
    expect(Math.max(...rowRuns(1024, 2 ** 25).map(({ count }) => count))).toBe(64);
    const [first] = rowRuns(4096, 2048 * 11008);
    expect((first?.count ?? 0) * 2048 * 11008).toBeLessThanOrEqual(2 ** 31);
    // The pocket model's products stay whole.
    expect(rowRuns(4096, 256 * 1024)).toHaveLength(1);
  });
});

describe.each([true, false])("with the programs of software adapters: %s", (software) => {
  // The form for cards cuts all storage types in one place; compiling each takes a software adapter two seconds.
  const storages: readonly WeightStorage[] = software ? ["f32", "f16", "q8", "q4"] : ["q4"];

  it.each(storages)("a packed matrix in %s, both ways", async (storage) => {
    setAdapterKind(software);
    const [rows, inSize, outSize] = [200, 40, 72];
    const matrix = packMatrix(
      Float32Array.from({ length: outSize * inSize }, (_, i) => Math.sin(i)),
      [outSize, inSize],
      storage,
      // Two blocks.
      inSize * 48,
    );
    const [x, dy] = [randomTensor([rows, inSize], 1), randomTensor([rows, outSize], 2)];
    const bias = randomTensor([outSize], 3);
    const forward = () => packedLinear(x, matrix, bias);
    const backward = () =>
      tf.grad((given) =>
        packedLinear(given as Tensor, matrix)
          .mul(dy)
          .sum(),
      )(x);
    const whole = [await counted(forward), await counted(backward)];
    setDispatchWork(70 * inSize * 48);
    const cut = [await counted(forward), await counted(backward)];
    for (const [at, { values, counts }] of cut.entries()) {
      expectSameBits(values, whole[at]?.values);
      expect(counts.dispatches).toBeGreaterThan(whole[at]?.counts.dispatches ?? 0);
    }
    matrix.dispose();
    tf.dispose([x, dy, bias]);
  });

  it("a linear layer in f32, its gradients, and batches of products in all orders", async () => {
    setAdapterKind(software);
    const [x, w, dy] = [randomTensor([130, 36], 1), randomTensor([50, 36], 2), randomTensor([130, 50], 3)];
    const [a, b] = [randomTensor([3, 150, 20], 4), randomTensor([3, 20, 30], 5)];
    const [at, bt] = tf.tidy(() => [a.transpose([0, 2, 1]).clone(), b.transpose([0, 2, 1]).clone()]) as Tensor[];
    const work = [
      () => linear(x, w),
      () =>
        tf.grad((given) =>
          linear(given as Tensor, w)
            .mul(dy)
            .sum(),
        )(x),
      () =>
        tf.grad((given) =>
          linear(x, given as Tensor)
            .mul(dy)
            .sum(),
        )(w),
      () => tf.matMul(a, b),
      () => tf.matMul(at as Tensor, b, true),
      () => tf.matMul(a, bt as Tensor, false, true),
    ];
    for (const [n, one] of work.entries()) {
      setDispatchWork();
      const whole = await counted(one);
      setDispatchWork(1);
      const cut = await counted(one);
      expect(cut.counts.dispatches, `product ${n}`).toBeGreaterThan(whole.counts.dispatches);
      expect(distance(cut.values, whole.values), `product ${n}`).toBeLessThan(software ? 1e-30 : 1e-6);
    }
    tf.dispose([x, w, dy, a, b, at as Tensor, bt as Tensor]);
  });
});

describe("convolutions of the backend", () => {
  type Shape = readonly [number, number, number, number];
  const cases: readonly (readonly [shape: Shape, kernel: Shape, stride: number, padding: number])[] = [
    [[1, 9, 7, 3], [5, 3, 1, 1], 1, 0],
    [[3, 6, 5, 3], [5, 3, 3, 3], 1, 1],
    [[2, 9, 7, 2], [4, 2, 3, 3], 2, 2],
    [[2, 12, 8, 3], [6, 3, 4, 4], 4, 0],
    [[1, 2, 5, 1], [2, 1, 2, 2], 1, 3],
    [[2, 12, 3, 1], [3, 1, 5, 2], 1, 1],
  ];

  it.each(cases)(
    "of %j with %j, stride %i, padding %i, their gradients too",
    async (shape, kernel, stride, padding) => {
      setAdapterKind(false);
      const [x, w] = [randomTensor(shape, 1), randomTensor(kernel, 2)];
      const convolve = (...[a, b]: Tensor[]): Tensor => conv2d(a as Tensor, b as Tensor, undefined, stride, padding);
      const y = convolve(x, w);
      const dy = randomTensor(y.shape, 3);
      const work = [
        () => convolve(x, w),
        () => tf.grads(convolve)([x, w], dy)[0] as Tensor,
        () => tf.grads(convolve)([x, w], dy)[1] as Tensor,
      ];
      const [, rows, columns, outSize] = y.shape as [number, number, number, number];
      const perRow = (columns * outSize * w.size) / kernel[0];
      const perImage = rows * perRow;
      for (const [n, one] of work.entries()) {
        setDispatchWork();
        const whole = await counted(one);
        // One row, one and a half, all but one, and one image at a time.
        for (const budget of [1, 1.5 * perRow, perImage - 1, perImage]) {
          setDispatchWork(budget);
          const cut = await counted(one);
          const least = n === 0 ? 1e-6 : 1e-5;
          expect(distance(cut.values, whole.values), `${n}, budget ${budget}`).toBeLessThan(least);
          const several = kernel[2] > 1 && budget < shape[0] * perImage && rows > 1;
          if (several) expect(cut.counts.dispatches).toBeGreaterThan(whole.counts.dispatches);
        }
      }
      tf.dispose([x, w, y, dy]);
    },
  );

  it("that are uncut in published models stay so, the widest is cut", () => {
    // The neck's first level over 256 x 256 cells, from 144 to 256 channels, is a product of 65,536 rows.
    expect(rowRuns(65_536, 144 * 256).length).toBe(2);
    // Patches of 14 x 14 x 3 to 1,024 channels, 32 rows of 32.
    expect(rowRuns(32, 32 * 1024 * 588, 1)).toHaveLength(1);
  });
});

describe("a submit", () => {
  it("is handed in when much work has been recorded", async () => {
    const [x, w] = [randomTensor([64, 32], 1), randomTensor([32, 32], 2)];
    await await tf.tidy(() => linear(x, w)).data();
    const submits = async (): Promise<number> =>
      (
        await counted(() => {
          let y: Tensor = x;
          for (let n = 0; n < 12; n++) y = linear(y, w);
          return y;
        })
      ).counts.submits;
    expect(await submits()).toBe(1);
    setDispatchWork((64 * 32 * 32) / 2);
    expect(await submits()).toBeGreaterThanOrEqual(3);
    tf.dispose([x, w]);
  });
});
