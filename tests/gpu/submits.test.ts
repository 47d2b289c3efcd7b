/** Recorded work is handed in after many dispatches, or when much memory waits for it; results do not depend on when. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { SUBMIT_DISPATCHES } from "../../src/engine/gpu/memory-sizes.ts";
import { countsBetween, gpuCounts } from "../../src/engine/gpu/runtime/counters.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory.ts";
import { setHeldBytes } from "../../src/engine/gpu/runtime/submits.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";

beforeAll(useGpu);
afterEach(() => setHeldBytes());

const COUNT = 3 * SUBMIT_DISPATCHES;

/** x + 1, so many times; every sum but the last is given up at once. */
function chain(size: number): tf.Tensor {
  return tf.tidy(() => {
    let y: tf.Tensor = tf.zeros([size]);
    for (let n = 0; n < COUNT; n++) {
      const next = tf.add(y, 1);
      y.dispose();
      y = next;
    }
    return y;
  });
}

describe("recorded work", () => {
  it("is handed in every so many dispatches", async () => {
    const before = gpuCounts();
    const y = chain(5);
    const { dispatches, submits } = countsBetween(before, gpuCounts());
    expect(dispatches).toBeGreaterThanOrEqual(COUNT);
    expect(submits).toBe(Math.floor(dispatches / SUBMIT_DISPATCHES));
    expect(Array.from(await y.data())).toEqual(new Array(5).fill(COUNT));
    y.dispose();
  });

  it("is handed in earlier when more memory waits for it than allowed, with the same results", async () => {
    const size = 10_000;
    const bytes = 4 * size;
    setHeldBytes(4 * bytes);
    const start = memorySnapshot();
    const before = gpuCounts();
    const y = chain(size);
    const { dispatches, submits } = countsBetween(before, gpuCounts());
    expect(submits).toBeGreaterThanOrEqual(Math.floor(dispatches / 5));
    // Never more than what waits, the last one more, and the two of the sum that is recorded.
    expect(memorySnapshot().gpuBytes - start.gpuBytes).toBeLessThanOrEqual(7 * bytes + 4096);
    const values = await y.data();
    expect([values[0], values[size - 1]]).toEqual([COUNT, COUNT]);
    y.dispose();
    expect(memorySnapshot().gpuBytes).toBe(start.gpuBytes);
  });

  it("keeps a tensor that another one still refers to", async () => {
    setHeldBytes(0);
    const x = tf.tidy(() => tf.range(0, 12).add(1));
    const shaped = x.reshape([3, 4]);
    x.dispose();
    const y = tf.tidy(() => shaped.mul(2));
    shaped.dispose();
    expect(Array.from(await y.data())).toEqual(Array.from({ length: 12 }, (_, i) => 2 * i + 2));
    y.dispose();
  });
});
