/** Small tensors are written by the queue; order and contents equal those of stock uploads. */
import { beforeAll, describe, expect, it } from "vitest";
import { countsBetween, gpuCounts } from "../../src/engine/gpu/runtime/counters.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";

beforeAll(useGpu);

describe("a small tensor", () => {
  it("gets to the GPU without a buffer of its own for the way, and without a submit", async () => {
    // Fills the pool, so that no buffer has to be created.
    for (let n = 0; n < 2; n++) tf.dispose(await tf.tidy(() => tf.tensor1d([1, 2, 3]).square()).data());
    const before = gpuCounts();
    const y = tf.tidy(() => tf.tensor1d([4, 5, 6]).square());
    const { submits, buffers, dispatches } = countsBetween(before, gpuCounts());
    expect({ submits, dispatches, staging: buffers <= 2 }).toEqual({ submits: 0, dispatches: 1, staging: true });
    expect(Array.from(await y.data())).toEqual([16, 25, 36]);
    y.dispose();
  });

  it.each([
    ["float32", [0.1, -0, 3e38, 1e-45]],
    ["int32", [1, -2, 2 ** 20 + 1, 0]],
    ["bool", [1, 0, 1, 1]],
  ] as const)("of type %s keeps its values", async (dtype, values) => {
    const x = tf.tensor1d([...values], dtype);
    const y = tf.tidy(() => tf.concat([x, x]));
    const expected = Array.from(await tf.tensor1d([...values], dtype).data());
    expect(Array.from(await y.data())).toEqual([...expected, ...expected]);
    tf.dispose([x, y]);
  });

  it("does not run ahead of recorded work that reads a buffer which is free afterwards", async () => {
    // Hundreds of constants of one size, each disposed while its product is only recorded.
    const results = Array.from({ length: 200 }, (_, n) =>
      tf.tidy(() => tf.fill([7], 1).mul(tf.tensor1d(new Array<number>(7).fill(n)))),
    );
    const sum = tf.tidy(() => tf.stack(results).sum(1));
    expect(Array.from(await sum.data())).toEqual(Array.from({ length: 200 }, (_, n) => 7 * n));
    tf.dispose([...results, sum]);
  });

  it("beside large ones, and empty ones, is left in its place", async () => {
    const large = tf.range(0, 20_000);
    const y = tf.tidy(() => tf.concat([large, tf.tensor1d([-1]), tf.tensor1d([])]));
    const values = await y.data();
    expect([values.length, values[19_999], values[20_000]]).toEqual([20_001, 19_999, -1]);
    tf.dispose([large, y]);
  });
});
