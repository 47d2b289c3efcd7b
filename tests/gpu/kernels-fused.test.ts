/** Our kernels except attention and products, against stock operations: values and gradients. */
import { beforeAll, describe, expect, it } from "vitest";
import { gelu, swiglu } from "../../src/engine/gpu/kernels/activation.ts";
import { headScores, setHeadScratch } from "../../src/engine/gpu/kernels/attention/head-scores.ts";
import { conv2d } from "../../src/engine/gpu/kernels/conv.ts";
import { type Dropout, dropout } from "../../src/engine/gpu/kernels/dropout.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { layerNorm, rmsNorm } from "../../src/engine/gpu/kernels/norm.ts";
import { repeatRows } from "../../src/engine/gpu/kernels/repeat.ts";
import { resizeBilinear } from "../../src/engine/gpu/kernels/resize.ts";
import { applyRope, ropeTable } from "../../src/engine/gpu/kernels/rope.ts";
import { switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

type Two = [Tensor, Tensor];
type Three = [Tensor, Tensor, Tensor];

describe("dropout", () => {
  const drop = (share: number): Dropout => ({ share, key: [4_000_000_000, 7], counter: [3, 2 ** 31 + 5, 1] });

  it.each([
    [[3], 0.5],
    [[5, 7, 3], 0.1],
    [[64, 130], 0.05],
    [[2, 4], 0],
  ] as const)("of %j by %f draws as the CPU does, forward and back", async (shape, share) => {
    await expectLikeStock((x) => dropout(x as Tensor, drop(share)), [randomTensor([...shape], 3)], 1e-6);
  });

  it("keeps the mean, drops its share, and draws anew for another address", async () => {
    const [x, y, other] = tf.tidy(() => {
      const ones = tf.ones([400, 100]);
      const again = { ...drop(0.2), counter: [3, 6, 1] as const };
      return [ones, dropout(ones, drop(0.2)), dropout(ones, again)];
    }) as Three;
    const [values, others] = [Array.from(await y.data()), Array.from(await other.data())];
    expect(values.filter((value) => value === 0).length / values.length).toBeCloseTo(0.2, 2);
    expect(values.reduce((a, b) => a + b, 0) / values.length).toBeCloseTo(1, 1);
    expect(values.filter((value, at) => (value === 0) !== (others[at] === 0)).length).toBeGreaterThan(10_000);
    tf.dispose([x, y, other]);
  });
});

describe("norms", () => {
  it.each([
    [[1, 1], 1],
    [[3, 7], 1],
    [[2, 5, 64], 1],
    [[130, 33], 1],
    [[4, 16], 1e4],
    [[4, 16], 1e-4],
  ])("of %j scaled by %f", async (shape, scale) => {
    const width = shape[shape.length - 1] as number;
    const fresh = (): Three => [randomTensor(shape, 1, scale), randomTensor([width], 2), randomTensor([width], 3)];
    const [x, weight, bias] = fresh();
    bias.dispose();
    await expectLikeStock(
      (...[x, w]) => rmsNorm(x as Tensor, w as Tensor, 1e-6),
      [x, weight],
      2e-5,
      width === 1 ? 1 : 0,
    );
    const norm = (...[x, w, b]: Tensor[]): Tensor => layerNorm(x as Tensor, w as Tensor, b as Tensor, 1e-6);
    // A row of one element equals its mean: its gradient is rounding error on both sides.
    if (width > 1) await expectLikeStock(norm, fresh(), 1e-4);
  });
});

describe("activations", () => {
  it.each([1, 63, 9001, 9004])("of %i elements, tiny and huge ones too", async (size) => {
    for (const scale of size === 63 ? [1, 1e-6, 40] : [1]) {
      await expectLikeStock((x) => gelu(x as Tensor), [randomTensor([size], 1, scale)]);
      const two: Two = [randomTensor([size, 1], 1, scale), randomTensor([size, 1], 2)];
      await expectLikeStock((...[g, u]) => swiglu(g as Tensor, u as Tensor), two);
    }
  });

  it("keep their limits far out", async () => {
    const far = tf.tidy(() => {
      const x = tf.tensor1d([-1e30, -200, 200, 1e30]);
      return tf.stack([gelu(x), swiglu(x, tf.onesLike(x))]);
    });
    const values = Array.from(await far.data());
    for (const row of [values.slice(0, 4), values.slice(4)]) {
      expect(Math.abs(row[1] as number)).toBeLessThan(1e-30);
      expect(row[2]).toBe(200);
      expect((row[3] as number) / 1e30).toBeCloseTo(1, 5);
    }
    far.dispose();
  });
});

describe("repeated rows", () => {
  it.each([
    [2, [1, 1]],
    [7, [1, 2, 5, 3]],
    [130, [1, 9, 4]],
    [3, [2, 1]],
    [5, [3, 2, 7, 3]],
  ])("%i times %j", async (rows, shape) => {
    await expectLikeStock((x) => repeatRows(x as Tensor, rows), [randomTensor(shape, 1)]);
  });
});

describe("the rotary embedding", () => {
  it.each([
    [1, 1, 1, 2],
    [2, 3, 5, 8],
    [3, 2, 7, 6],
  ])("of %i rows, %i heads, %i places of width %i", async (batch, heads, length, width) => {
    for (const rows of [1, batch]) {
      const positions = Array.from({ length: rows }, (_, r) => Array.from({ length }, (_, t) => 3 * r + t));
      const table = ropeTable(positions, width, 10_000);
      await expectLikeStock((x) => applyRope(x as Tensor, table), [randomTensor([batch, heads, length, width], 1)]);
      tf.dispose([table.cos, table.sin]);
    }
  });
});

describe("token scores", () => {
  it.each([
    [1, 2],
    [5, 7],
    [9, 351],
  ])("of %i rows over %i tokens", async (rows, width) => {
    for (const [temperature, guard, scale] of [
      [1, Number.POSITIVE_INFINITY, 3],
      [0.7, 30, 3],
      [1.3, 2, 3],
      [1, 30, 1000],
    ] as const) {
      const ids = tf.tensor1d(
        Array.from({ length: rows }, (_, r) => (r * 5) % width),
        "int32",
      );
      const score = (logits: Tensor): Tensor => {
        const { logp, entropy } = tokenScores(logits, ids, temperature, guard);
        return tf.stack([logp, entropy]);
      };
      await expectLikeStock((x) => score(x as Tensor), [randomTensor([rows, width], 4, scale)], 1e-4, 1e-2);
      ids.dispose();
    }
  });

  it("let no gradient through where the guard clips, and give certain tokens probability 1", async () => {
    const ids = tf.tensor1d([0], "int32");
    const logits = tf.tensor2d([[2, 5, -9, 1]]);
    const slope = tf.tidy(() => tf.grad((x) => tokenScores(x as Tensor, ids, 1, 2).logp.sum())(logits));
    const values = await slope.data();
    expect([values[0], values[1], values[2]]).toEqual([0, 0, 0]);
    expect(values[3]).not.toBe(0);
    const sure = tokenScores(tf.tensor2d([[100, 0, 0]]), ids, 1, Number.POSITIVE_INFINITY);
    expect([(await sure.logp.data())[0], (await sure.entropy.data())[0]]).toEqual([0, 0]);
  });
});

describe("token scores over a long vocabulary", () => {
  const ids = (rows: number, width: number): Tensor =>
    tf.tensor1d(
      Array.from({ length: rows }, (_, r) => (r * 2047) % width),
      "int32",
    );

  it.each([
    [1, 2049],
    [2, 4100],
  ])("of %i rows over %i tokens", async (rows, width) => {
    const chosen = ids(rows, width);
    for (const [temperature, guard, scale] of [
      [0.7, 4, 3],
      [1, 30, 1000],
    ] as const) {
      const score = (...[logits, id]: Tensor[]): Tensor =>
        tf.stack(Object.values(tokenScores(logits as Tensor, id as Tensor, temperature, guard)));
      await expectLikeStock(score, [randomTensor([rows, width], 4, scale)], 1e-4, 1e-2, [chosen]);
    }
    chosen.dispose();
  });

  it.each([
    [1, 5, 2049],
    [3, 16, 4100],
  ])("of %i hidden rows of width %i against a head of %i rows, block by block", async (rows, width, vocabulary) => {
    setHeadScratch(rows * 4 * 2048);
    const chosen = ids(rows, vocabulary);
    const score = (...[hidden, head, id]: Tensor[]): Tensor =>
      tf.stack(Object.values(headScores(hidden as Tensor, head as Tensor, id as Tensor, 0.9, 2)));
    const inputs = [randomTensor([rows, width], 4), randomTensor([vocabulary, width], 5)];
    await expectLikeStock(score, inputs, 1e-4, 1e-2, [chosen]);
    chosen.dispose();
    setHeadScratch();
  });
});

describe("convolution", () => {
  it.each([
    [[1, 1, 1, 1], [1, 1, 1, 1], 1, 0],
    [[2, 6, 6, 3], [5, 3, 3, 3], 3, 0],
    [[1, 9, 7, 2], [4, 2, 3, 3], 2, 2],
    [[1, 5, 5, 3], [4, 3, 1, 1], 1, 0],
    [[1, 16, 16, 3], [8, 3, 7, 7], 4, 3],
    [[2, 9, 7, 2], [4, 2, 3, 2], 2, 1],
    [[1, 9, 7, 2], [4, 2, 2, 5], 1, 0],
  ])("of %j with %j, stride %i, padding %i", async (shape, kernel, stride, padding) => {
    const fresh: Three = [randomTensor(shape, 1), randomTensor(kernel, 2), randomTensor([kernel[0] as number], 3)];
    await expectLikeStock((...[x, w, b]) => conv2d(x as Tensor, w as Tensor, b as Tensor, stride, padding), fresh);
  });
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
