/** The passes of an update over many tensors at once, against stock ops tensor by tensor; masks as bits. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHUNK, FlatLayout, gather, readSet, runsOf, scatter } from "../../src/engine/gpu/flat/layout.ts";
import { maskBits, maskBitsByOps, pixelsOf } from "../../src/engine/gpu/kernels/mask-bits.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { GradientSum } from "../../src/engine/rl/optim/gradient-sum.ts";
import { inspectGradients } from "../../src/engine/rl/optim/monitor.ts";
import { disposeSet } from "../../src/engine/rl/optim/optimiser.ts";
import { gradientMetrics, joinLoops } from "../../src/engine/rl/optim/training-state.ts";
import type { LoopId } from "../../src/engine/runs/rollouts/records.ts";
import { forAny, scale, shape, side, tensorSeed } from "../support/any.ts";
import { checkedGpu } from "../support/gpu.ts";
import { distance, randomTensor } from "../support/kernels.ts";
import { testWith } from "../support/plugins.ts";
import { expectClose, expectLikeStockUpdates, randomSet, readAll, type Shapes } from "../support/updates.ts";

checkedGpu();

/** Sizes around the chunk and the alignment, a scalar, and one large tensor between small ones. */
const SHAPES: Shapes = {
  one: [1],
  scalar: [],
  bias: [7],
  under: [CHUNK - 1],
  exact: [CHUNK],
  over: [CHUNK + 1],
  large: [515, 513],
  matrix: [33, 65],
  last: [3, 5, 7],
};

describe("updates over arenas", () => {
  it.each([1, 1e-12, 1e12])("equal stock ops for gradients of about %f", async (scale) => {
    await expectLikeStockUpdates({
      shapes: SHAPES,
      groups: [
        ["bias", "over", "large", "last"],
        ["one", "bias", "under", "exact", "over", "last"],
        ["scalar", "bias", "large", "last"],
      ],
      scale,
      slow: ["large"],
    });
  });

  it("tell where a sum of gradients is broken, whatever absent tensors hold", async () => {
    const layout = new FlatLayout(Object.entries(SHAPES));
    const sum = new GradientSum(layout);
    expect((await inspectGradients(sum, () => "all")).norm).toBe(0);
    sum.add(randomSet(SHAPES, 3, 1, ["bias", "over"]));
    const bad = new Float32Array(CHUNK + 1);
    bad[CHUNK] = Number.NaN;
    sum.add({ over: tf.tensor1d(bad), matrix: tf.ones([33, 65]) });
    const report = await inspectGradients(sum, (name) => name);
    expect(report.nonFinite).toBe(1);
    expect(report.nonFiniteTensors).toEqual(["over"]);
    expect(report.blocks.matrix).toBeCloseTo(Math.sqrt(33 * 65), 3);
    expect(report.norm).toBeNaN();
    const tensors = sum.tensors();
    expect(Object.keys(tensors).sort()).toEqual(["bias", "matrix", "over"]);
    disposeSet(tensors);
    expect(() => sum.add({ strange: tf.ones([1]) })).toThrow(/strange/);
    sum.dispose();
    layout.dispose();
  });

  testWith("question-answer")("of three loops have the norm of their sum before each is clipped", async () => {
    const layout = new FlatLayout([["a", [4]]]);
    const loops = [
      [3, 0, 0, 0],
      [-4, 4, 0, 0],
      [0, 2, 5, 0],
    ].map((values, at): [LoopId, GradientSum] => {
      const sum = new GradientSum(layout);
      sum.add({ a: tf.tensor1d(values) });
      return [(at + 1) as LoopId, sum];
    });
    const joined = await joinLoops(new Map(loops), { clipScope: "loop", maxGradNorm: 1 });
    const { norm, metrics } = gradientMetrics(joined, (await inspectGradients(joined.sum, () => "all")).norm);
    expect(norm).toBeCloseTo(Math.hypot(-1, 6, 5), 5);
    expect(metrics["loop3/clip_factor"]).toBeCloseTo(1 / Math.hypot(2, 5), 5);
    expect(metrics).not.toHaveProperty("grad_cosine");
    joined.sum.dispose();
  });

  it("multiply two sums of gradients over their tensors alone, whatever lies between these", async () => {
    const shapes = { a: [5], b: [3, 7], c: [32], d: [16], e: [1] };
    const common = ["a", "b", "d", "e"];
    const sets = () => [randomSet(shapes, 1), randomSet(shapes, 2, 1, common)] as const;
    const [mine, theirs] = await Promise.all(sets().map(readAll));
    const products = common.flatMap((name) =>
      Array.from(theirs?.[name] ?? [], (value, at) => value * (mine?.[name]?.[at] ?? 0)),
    );
    const layout = new FlatLayout(Object.entries(shapes));
    for (const before of [Number.NaN, 1e20]) {
      // Reused buffers still hold their old contents.
      const old = Array.from({ length: 6 }, () => tf.fill([layout.arenas[0]?.length ?? 0], before).add(0));
      for (const tensor of old) await tensor.data();
      tf.dispose(old);
      const sums = sets().map((set) => {
        const sum = new GradientSum(layout);
        sum.add(set);
        return sum;
      }) as [GradientSum, GradientSum];
      const dot = await sums[0].dot(sums[1]);
      expect(dot).toBeCloseTo(
        products.reduce((total, product) => total + product, 0),
        4,
      );
      for (const sum of sums) sum.dispose();
    }
    layout.dispose();
  });
});

describe("arenas", () => {
  it("give back what they were given, as copies where asked", async () => {
    const before = tf.memory().numTensors;
    const set = randomSet(SHAPES, 5);
    const layout = FlatLayout.of(set);
    expect(layout.arenas.map(({ segments }) => segments.length)).toEqual([8, 1]);
    for (const own of [false, true]) {
      const flats = gather(layout, set, own);
      const back = scatter(layout, flats, own);
      expect(Object.keys(back)).toEqual(Object.keys(set));
      expectClose(await readAll(back), await readAll(set), 0);
      tf.dispose(flats);
      disposeSet(back);
    }
    expectClose(Object.fromEntries(await readSet(layout, set)), await readAll(set), 0);
    disposeSet(set);
    layout.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it("take integers that were cast, whose buffer stays integer", async () => {
    const cast = tf.tidy(() => tf.tensor1d([1, 2, 3], "int32").toFloat());
    const layout = new FlatLayout([
      ["a", [3]],
      ["b", [1]],
    ]);
    const flats = gather(layout, { a: cast });
    const back = scatter(layout, flats);
    expect(Array.from(await (back.a as Tensor).data())).toEqual([1, 2, 3]);
    tf.dispose([...flats, cast]);
    disposeSet(back);
  });

  it("hold a limited amount, so that few are held twice", () => {
    const layout = new FlatLayout(Array.from({ length: 40 }, (_, i) => [`t${i}`, [2 ** 18 - 1]] as const));
    expect(layout.arenas.length).toBe(3);
    for (const { length } of layout.arenas) expect(length).toBeLessThanOrEqual(2 ** 22);
    expect(layout.arenas.reduce((sum, { chunks }) => sum + chunks, 0)).toBe(layout.chunks);
  });

  it("know the stretches of wanted neighbours", () => {
    const segments = ["a", "b", "c", "d"].map((name, index) => {
      return { name, shape: [10], size: 10, index, offset: 16 * index };
    });
    const runs = (wanted: string): unknown => runsOf(segments, (name) => wanted.includes(name));
    expect(runs("abcd")).toEqual([{ begin: 0, end: 58 }]);
    expect(runs("abd")).toEqual([
      { begin: 0, end: 26 },
      { begin: 48, end: 58 },
    ]);
    expect(runs("")).toEqual([]);
  });
});

const SET = fc
  .array(shape([0, 3], 700, 40_000), { minLength: 2, maxLength: 12 })
  .map((shapes) => Object.fromEntries(shapes.map((sides, at) => [`t${at}`, sides])))
  .chain((shapes) => {
    const names = fc.subarray(Object.keys(shapes), { minLength: 1 });
    return fc.record({
      shapes: fc.constant(shapes),
      groups: fc.array(names, { minLength: 1, maxLength: 4 }),
      scale: scale(-12, 0, 12),
      slow: fc.subarray(Object.keys(shapes)),
    });
  });

it("updates of any tensors move what stock ops move", async () => {
  await forAny(4, SET, expectLikeStockUpdates);
});

const MASKS = fc
  .record({ masks: side(12), height: side(140), width: side(140), size: scale(-30, 0, 30), seed: tensorSeed })
  .filter(({ masks, height, width }) => masks * height * width <= 60_000);

it("masks of any size are the same bits and sums as by stock ops", async () => {
  await forAny(12, MASKS, async ({ masks, height, width, size, seed }) => {
    const logits = randomTensor([masks, height, width], seed, size);
    const read = async (made: { words: Tensor; sums: Tensor }): Promise<[number[], Float32Array]> => {
      const values: [number[], Float32Array] = [
        Array.from(await made.words.data()),
        Float32Array.from(await made.sums.data()),
      ];
      tf.dispose([made.words, made.sums]);
      return values;
    };
    const [words, sums] = await read(maskBitsByOps(logits));
    for (const software of [true, false]) {
      setAdapterKind(software);
      const [own, counted] = await read(maskBits(logits));
      expect(own).toEqual(words);
      expect(distance(counted, sums, 1)).toBeLessThan(1e-5);
    }
    const area = height * width;
    const bits = pixelsOf(words.slice(0, Math.ceil(area / 16)), area);
    const values = await logits.data();
    expect(bits.every((bit, at) => (bit === 1) === (values[at] as number) > 0)).toBe(true);
    logits.dispose();
  });
});
