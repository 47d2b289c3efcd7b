/**
 * Buffers of disposed tensors are free at once, free ones are bounded, and recorded work is submitted after many
 * dispatches.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KEPT_FREE_BYTES, SUBMIT_DISPATCHES } from "../../src/engine/gpu/memory-sizes.ts";
import { countsBetween, gpuCounts, liveBytes } from "../../src/engine/gpu/runtime/counters.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import {
  SMALL_BUFFER,
  setMostFree,
  setPlannedBytes,
  trimPool,
  trimPoolToSmall,
} from "../../src/engine/gpu/runtime/pool.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { checkedGpu, useGpu } from "../support/gpu.ts";

beforeAll(useGpu);
checkedGpu();
beforeEach(trimPool);
afterEach(() => {
  setMostFree();
  setPlannedBytes();
});

const COUNT = 3 * SUBMIT_DISPATCHES;
const free = (): number => {
  const { gpuBytes, gpuBytesAllocated } = memorySnapshot();
  return gpuBytesAllocated - gpuBytes;
};

/** x + 1, `count` times; every sum except the last is disposed at once. */
function chain(size: number, count = COUNT): tf.Tensor {
  let y: tf.Tensor = tf.tidy(() => tf.fill([size], 0));
  for (let n = 0; n < count; n++) {
    const next = tf.add(y, 1);
    y.dispose();
    y = next;
  }
  return y;
}

describe("recorded work", () => {
  it("is handed in after a fixed number of dispatches, and holds no buffer for each of them", async () => {
    const size = 10_000;
    const [before, start] = [gpuCounts(), memorySnapshot()];
    const y = chain(size);
    const { dispatches, submits } = countsBetween(before, gpuCounts());
    expect(dispatches).toBeGreaterThanOrEqual(COUNT);
    expect(submits).toBe(Math.floor(dispatches / SUBMIT_DISPATCHES));
    // The two of the recorded sum, and constants.
    expect(memorySnapshot().gpuBytesAllocated - start.gpuBytesAllocated).toBeLessThanOrEqual(2 * 4 * size + 16_384);
    const values = await y.data();
    expect([values[0], values[size - 1]]).toEqual([COUNT, COUNT]);
    y.dispose();
    expect(memorySnapshot().gpuBytes).toBe(start.gpuBytes);
  });

  it("keeps a tensor that another one still refers to", async () => {
    const x = tf.tidy(() => tf.range(0, 12).add(1));
    const shaped = x.reshape([3, 4]);
    x.dispose();
    const y = tf.tidy(() => shaped.mul(2));
    tf.dispose([shaped, chain(12, 3)]);
    expect(Array.from(await y.data())).toEqual(Array.from({ length: 12 }, (_, i) => 2 * i + 2));
    y.dispose();
  });
});

describe("free buffers", () => {
  it("are given back when asked for, also those that recorded work uses", async () => {
    for (let size = 1000; size < 1100; size++) chain(size, 1).dispose();
    trimPool();
    expect(free()).toBe(0);
    expect(Array.from(await tf.ones([3]).square().data())).toEqual([1, 1, 1]);
  });

  it("are few in the middle of a phase, those of the sizes freed last", async () => {
    const sizes = [1, 2, 3, 4, 5].map((at) => at * SMALL_BUFFER);
    const most = 24 * SMALL_BUFFER;
    /** Buffers made for a chain of sums of this size. */
    const made = (size: number): number => {
      const before = gpuCounts().buffers;
      chain(size, 3).dispose();
      return gpuCounts().buffers - before;
    };
    setMostFree(most);
    for (const size of sizes) {
      made(size);
      // The buffers released by the last chain come on top.
      expect(free()).toBeLessThanOrEqual(most + 2 * 4 * size + 16_384);
    }
    expect(made(sizes.at(-1) as number)).toBeLessThan(made(sizes[0] as number));
    await tf.ones([3]).data();
  });

  it("take what the plan of a run leaves, and no more", async () => {
    const size = 40_000;
    const kept = chain(size, 1);
    const planned = liveBytes() + 8 * 4 * size;
    setPlannedBytes(planned);
    const results: tf.Tensor[] = [];
    let most = 0;
    for (let n = 0; n < 40; n++) {
      results.push(tf.tidy(() => chain(size + n, 3).slice([n], [1])));
      // Nothing is destroyed after the last buffer of a chain.
      most = Math.max(most, liveBytes());
    }
    expect(most).toBeLessThanOrEqual(planned);
    expect(most).toBeGreaterThan(planned - 2 * 4 * size);
    // More than planned is in use: free buffers remain a small share, and the work continues.
    const used = Array.from({ length: 12 }, (_, n) => chain(size + n, 1));
    expect(free()).toBeLessThan(planned / 8);
    const [values, last] = await Promise.all([tf.tidy(() => tf.concat(results)).data(), used.at(-1)?.data()]);
    expect(Array.from(values)).toEqual(new Array(40).fill(3));
    expect(last?.[0]).toBe(1);
    tf.dispose([kept, ...results, ...used]);
  });

  it("that are small stay between phases, as long as they are few", async () => {
    const sizes = [3, 5, SMALL_BUFFER / 4, SMALL_BUFFER / 4 + 1];
    const work = async (): Promise<number> => {
      for (const size of sizes) tf.dispose(await tf.tidy(() => tf.ones([size]).square()).data());
      return gpuCounts().buffers;
    };
    const fresh = await work();
    trimPoolToSmall();
    expect(free()).toBeGreaterThan(0);
    // Only the large one's buffers, and those of read-backs.
    expect((await work()) - fresh).toBeLessThanOrEqual(2 + sizes.length);
    // Every size leaves a buffer behind; together they exceed the limit of kept buffers.
    for (let size = SMALL_BUFFER / 4; size > SMALL_BUFFER / 4 - 2000; size--) chain(size, 1).dispose();
    await tf.ones([3]).data();
    expect(free()).toBeGreaterThan(KEPT_FREE_BYTES);
    trimPoolToSmall();
    expect(free()).toBeLessThanOrEqual(KEPT_FREE_BYTES);
    // The smallest are kept.
    expect(free()).toBeGreaterThan(0);
  });
});
