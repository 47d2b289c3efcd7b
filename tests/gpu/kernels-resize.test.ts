/** Bilinear resize by our program against the backend's, and its gradient against the matrices of the interpolation. */
import { beforeAll, describe, expect, it } from "vitest";
import { resizeBilinear } from "../../src/engine/gpu/kernels/resize.ts";
import { switchCustomKernels } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

type Sizes = readonly [shape: readonly [number, number, number, number], height: number, width: number];

const CASES: readonly Sizes[] = [
  [[1, 1, 1, 1], 1, 1],
  [[1, 1, 1, 2], 5, 3],
  [[2, 5, 7, 3], 1, 1],
  [[2, 5, 7, 3], 5, 7],
  [[3, 4, 4, 1], 16, 16],
  [[1, 3, 5, 1], 34, 41],
  [[2, 33, 17, 2], 9, 40],
  [[1, 40, 31, 1], 7, 11],
  [[1, 9, 1, 4], 4, 6],
  [[2, 64, 64, 1], 100, 75],
];

describe("bilinear resize", () => {
  it.each(CASES)("of %j to %i x %i", async (shape, height, width) => {
    for (const scale of [1, 1e20, 1e-20]) {
      await expectLikeStock((x) => resizeBilinear(x as Tensor, height, width), [randomTensor(shape, 1, scale)], 1e-5);
    }
  });

  it.each(CASES)("of %j to %i x %i has the gradient of its own values", async (shape, height, width) => {
    for (const own of [true, false]) {
      switchCustomKernels(own);
      // Linear: what a direction gives equals the gradient along it, for any gradient that comes in.
      const [x, dy] = [randomTensor(shape, 2), randomTensor([shape[0], height, width, shape[3]], 3)];
      const [gained, along] = tf.tidy(() => [
        resizeBilinear(x, height, width).mul(dy).sum(),
        tf
          .grad((given) => resizeBilinear(given as Tensor, height, width))(tf.zerosLike(x), dy)
          .mul(x)
          .sum(),
      ]) as [Tensor, Tensor];
      const [value, expected] = [(await along.data())[0] as number, (await gained.data())[0] as number];
      expect(Math.abs(value - expected)).toBeLessThan(1e-4 * (1 + Math.sqrt(height * width * shape[0] * shape[3])));
      tf.dispose([x, dy, gained, along]);
    }
    switchCustomKernels(true);
  });

  it("repeats the edges and meets the source in the middle, as PyTorch does without aligned corners", async () => {
    const wide = tf.tidy(() => resizeBilinear(tf.tensor4d([0, 4], [1, 1, 2, 1]), 1, 4));
    expect(Array.from(await wide.data())).toEqual([0, 1, 3, 4]);
    const narrow = tf.tidy(() => resizeBilinear(tf.tensor4d([0, 1, 2, 3, 4, 5], [1, 1, 6, 1]), 1, 2));
    expect(Array.from(await narrow.data())).toEqual([1, 4]);
    tf.dispose([wide, narrow]);
  });
});
