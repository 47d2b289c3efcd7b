/** Sums and means over neighbouring axes by our program, against the stock ones. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { axisBlock } from "../../src/engine/gpu/tfjs/reductions.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

const CASES: readonly (readonly [shape: number[], axis: number | number[] | undefined])[] = [
  [[1], undefined],
  [[7], 0],
  [[5, 3], 1],
  [[5, 3], -1],
  [[5, 3], 0],
  [[2, 4, 3, 5], 1],
  [
    [2, 4, 3, 5],
    [1, 2],
  ],
  [
    [2, 4, 3, 5],
    [2, 1],
  ],
  [
    [2, 4, 3, 5],
    [0, 3],
  ],
  [[2, 4, 3, 5], undefined],
  [
    [2, 3, 2, 3, 2],
    [1, 2, 3],
  ],
  [[257, 33], 1],
  [[3, 5000], 1],
];

describe("sums and means", () => {
  it.each(CASES)("of %j over %j", async (shape, axis) => {
    for (const keep of [false, true]) {
      await expectLikeStock((x) => (x as Tensor).sum(axis, keep), [randomTensor(shape, 1)], 3e-5, 1);
      await expectLikeStock((x) => (x as Tensor).mean(axis, keep), [randomTensor(shape, 1)], 3e-5, 0.1);
    }
  });

  it("of counts and flags stay whole numbers", async () => {
    const flags = tf.tensor2d([1, 0, 1, 1, 1, 0], [2, 3], "bool");
    const counts = tf.tidy(() => flags.sum(1));
    expect(counts.dtype).toBe("int32");
    expect(Array.from(await counts.data())).toEqual([2, 2]);
    tf.dispose([flags, counts]);
  });

  it("find a block of axes, or none", () => {
    expect(axisBlock([2, 3, 4], [1])).toEqual({ outer: 2, length: 3, inner: 4 });
    expect(axisBlock([2, 3, 4], [2, 1])).toEqual({ outer: 2, length: 12, inner: 1 });
    expect(axisBlock([2, 3, 4], [0, 2])).toBeUndefined();
    expect(axisBlock([], [])).toEqual({ outer: 1, length: 1, inner: 1 });
  });
});
