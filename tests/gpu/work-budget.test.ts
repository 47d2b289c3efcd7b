/** Products that would work too long are cut into dispatches of whole rows, with the same numbers. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { countsBetween, type GpuCounts, gpuCounts } from "../../src/engine/gpu/counters.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { setAdapterKind } from "../../src/engine/gpu/own-kernels.ts";
import { packedLinear } from "../../src/engine/gpu/packed/linear.ts";
import { packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { DISPATCH_WORK, rowRuns, setDispatchWork } from "../../src/engine/gpu/work-budget.ts";
import { useGpu } from "../support/gpu.ts";
import { distance, randomTensor } from "../support/kernels.ts";

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
  it("cover every row once, begin at whole steps and keep to the budget", () => {
    for (const rows of [1, 63, 64, 65, 1000, 4096, 4097]) {
      for (const perRow of [1, 1e5, 2 ** 25, 2 ** 27]) {
        const runs = rowRuns(rows, perRow);
        let next = 0;
        for (const { from, count } of runs) {
          expect([from, from % 64, count > 0]).toEqual([next, 0, true]);
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
  it.each(["f32", "f16", "q8", "q4"] as const)("a packed matrix in %s, both ways", async (storage: WeightStorage) => {
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
      expect(Array.from(values)).toEqual(Array.from(whole[at]?.values ?? []));
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
