/**
 * The backend's operations that our programs replace, bit for bit: arithmetic and comparisons against stock ones on the CPU;
 * slices, transposes, repetitions, paddings, concatenations and flattened operations against the stock programs.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { broadcastAxes } from "../../src/engine/gpu/tfjs/elementwise.ts";
import { joinAxes } from "../../src/engine/gpu/tfjs/rearrange.ts";
import { useGpu } from "../support/gpu.ts";
import { onCpu, randomTensor } from "../support/kernels.ts";
import { expectSameBits } from "../support/same-bits.ts";

let device: Awaited<ReturnType<typeof useGpu>>;
beforeAll(async () => {
  device = await useGpu();
});

const SHAPES: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[], []],
  [[1], [5]],
  [[7], []],
  [[3, 5], [5]],
  [
    [3, 5],
    [3, 1],
  ],
  [[3, 1], [4]],
  [
    [2, 3, 4],
    [2, 1, 4],
  ],
  [
    [2, 1, 4, 1],
    [1, 3, 1, 5],
  ],
  [
    [2, 1, 3, 1, 2],
    [1, 2, 1, 3, 1],
  ],
  [
    [70, 257],
    [70, 257],
  ],
  [[30, 257], [257]],
  [[97, 101], [101]],
  [[127], [80, 3, 127]],
  [[1024, 64], [64]],
  [[4], [3000, 1, 4]],
  [
    [5, 1, 8],
    [1, 1, 8],
  ],
  [
    [1, 3, 4],
    [700, 3, 4],
  ],
];

describe("element-wise operations", () => {
  it.each(SHAPES)("of %j and %j", async (left, right) => {
    // Numbers at the limits of their range, in small shapes of all kinds.
    for (const scale of Math.max(...left, ...right) < 64 ? [1, 1e-30, 1e30] : [1]) {
      const [a, b] = [randomTensor(left, 1, scale), randomTensor(right, 2)];
      const before = tf.memory().numTensors;
      const all = async (...[x, y]: Tensor[]): Promise<Float32Array[]> => {
        const [a, b] = [x as Tensor, y as Tensor];
        const results = tf.tidy(() => [
          ...[a.add(b), a.sub(b), a.mul(b), a.div(b), b.sub(a), b.div(a), a.maximum(b), a.minimum(b)],
          ...[a.greater(b), a.greaterEqual(b), a.less(b), a.lessEqual(b), a.equal(b), a.notEqual(b), a.equal(a)],
        ]);
        const values: Float32Array[] = [];
        for (const result of results) {
          const shape = tf.backend_util.assertAndGetBroadcastShape([...left], [...right]);
          if (result !== results[results.length - 1]) expect(result.shape).toEqual(shape);
          values.push((await result.data()) as Float32Array);
        }
        tf.dispose(results);
        return values;
      };
      const stock = await onCpu([a, b], (copies) => all(...copies));
      const own = await all(a, b);
      expect(own.length).toBe(stock.length);
      for (const [at, values] of own.entries()) expectSameBits(values, stock[at], `result ${at}`);
      expect(tf.memory().numTensors).toBe(before);
      tf.dispose([a, b]);
    }
  });

  it("keep infinities and NaN", async () => {
    const values = [Number.POSITIVE_INFINITY, Number.NaN, 0, -1];
    const sums = tf.tidy(() => tf.tensor1d(values).add(tf.tensor1d([Number.NEGATIVE_INFINITY, 1, 2, 3])));
    expect(Array.from(await sums.data())).toEqual([Number.NaN, Number.NaN, 2, 2]);
    const [largest, smallest, same] = tf.tidy(() => {
      const [x, y] = [tf.tensor1d(values), tf.tensor1d([1, 1, Number.NaN, 3])];
      return [x.maximum(y), x.minimum(y), x.equal(tf.tensor1d(values))];
    }) as [Tensor, Tensor, Tensor];
    expect(Array.from(await largest.data())).toEqual([Number.POSITIVE_INFINITY, Number.NaN, Number.NaN, 3]);
    expect(Array.from(await smallest.data())).toEqual([1, Number.NaN, Number.NaN, -1]);
    expect(same.dtype).toBe("bool");
    const equal = Array.from(await same.data());
    expect([equal[0], equal[2], equal[3]]).toEqual([1, 1, 1]);
    tf.dispose([sums, largest, smallest, same]);
  });

  it("leave integers and nothing to the stock programs", async () => {
    const whole = tf.tidy(() => tf.tensor1d([1, 2], "int32").add(tf.scalar(1000, "int32")));
    expect(whole.dtype).toBe("int32");
    expect(Array.from(await whole.data())).toEqual([1001, 1002]);
    const empty = tf.tidy(() => tf.zeros([0, 3]).add(tf.ones([3])));
    expect(empty.shape).toEqual([0, 3]);
    tf.dispose([whole, empty]);
  });

  it("take integers that were cast, whose buffer stays integer", async () => {
    const sum = tf.tidy(() => tf.tensor1d([1, 2], "int32").toFloat().mul(tf.scalar(0.5)));
    expect(Array.from(await sum.data())).toEqual([0.5, 1]);
    sum.dispose();
  });
});

describe("axes of a broadcast", () => {
  it("are joined where both operands walk on, and refused where they do not fit", () => {
    expect(broadcastAxes([2, 3, 4], [2, 3, 4])).toEqual([{ size: 24, a: 1, b: 1 }]);
    expect(broadcastAxes([2, 3, 4], [])).toEqual([{ size: 24, a: 1, b: 0 }]);
    expect(broadcastAxes([2, 3, 4], [4])).toEqual([
      { size: 6, a: 4, b: 0 },
      { size: 4, a: 1, b: 1 },
    ]);
    expect(broadcastAxes([1, 1], [1])).toEqual([]);
    expect(broadcastAxes([2], [3])).toBeUndefined();
  });
});

/** All results are the stock ones to the last bit, in the form for software adapters as in that for GPUs. */
async function expectSame(f: () => Tensor[]): Promise<void> {
  const before = tf.memory();
  const all = async (): Promise<[number[], string, Uint8Array][]> => {
    const results = tf.tidy(f);
    const read: [number[], string, Uint8Array][] = [];
    for (const result of results) {
      const values = await result.data();
      read.push([result.shape, result.dtype, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]);
    }
    tf.dispose(results);
    return read;
  };
  try {
    switchCustomKernels(false);
    const expected = await all();
    switchCustomKernels(true);
    for (const software of [true, false]) {
      setAdapterKind(software);
      const what = software ? "software form" : "GPU form";
      const found = await all();
      expect(found.map(([sides, type]) => [sides, type])).toEqual(expected.map(([sides, type]) => [sides, type]));
      for (const [at, [, , bytes]] of found.entries())
        expectSameBits(bytes, expected[at]?.[2], `${what}, result ${at}`);
    }
  } finally {
    switchCustomKernels(true);
    setAdapterKind(true);
  }
  device.check();
  expect(tf.memory().numTensors).toBe(before.numTensors);
}

const axes = (rank: number): number[] => Array.from({ length: rank }, (_, axis) => axis);

describe("one program for what only moves numbers", () => {
  it.each([[[9]], [[3, 5]], [[4, 1, 6]], [[2, 3, 4, 5]], [[2, 1, 3, 2, 3]], [[40, 300]], [[2, 3, 2, 3, 2, 2]]])(
    "cuts %j anywhere",
    async (shape) => {
      const x = randomTensor(shape, 1);
      await expectSame(() => {
        const begin = shape.map((side) => Math.floor(side / 3));
        const middle = shape.map((side) => Math.max(1, Math.floor(side / 2)));
        return [
          x.slice(begin, middle),
          x.slice(shape.map(() => 0)),
          x.slice([(shape[0] as number) - 1]),
          ...axes(shape.length).flatMap((axis) => tf.split(x, [1, (shape[axis] as number) - 1].filter(Boolean), axis)),
          ...tf.unstack(x, shape.length - 1).slice(0, 3),
        ];
      });
      x.dispose();
    },
  );

  it.each([[[3, 5]], [[4, 1, 6]], [[2, 3, 4, 5]], [[70, 150]], [[2, 3, 2, 2, 3]]])("turns %j", async (shape) => {
    const x = randomTensor(shape, 2);
    const rank = shape.length;
    const turns = axes(rank).map((by) => axes(rank).map((axis) => (axis + by) % rank));
    await expectSame(() => [...turns.map((perm) => x.transpose(perm)), x.transpose()]);
    x.dispose();
  });

  it.each([[[5]], [[3, 4]], [[2, 1, 3]], [[1, 7, 1, 2]], [[60, 90]]])("repeats and pads %j", async (shape) => {
    const x = randomTensor(shape, 3);
    await expectSame(() => [
      x.tile(shape.map((_, axis) => 1 + (axis % 3))),
      x.tile(shape.map(() => 2)),
      x.tile(shape.map(() => 1)),
      x.pad(shape.map((_, axis) => [axis, 2] as [number, number])),
      x.pad(
        shape.map((_, axis) => [axis === 0 ? 3 : 0, 0] as [number, number]),
        -7.5,
      ),
      x.pad(shape.map(() => [0, 0] as [number, number])),
    ]);
    x.dispose();
  });

  it.each([2, 3, 4, 7, 8, 15])("joins %i tensors along every axis", async (count) => {
    for (const axis of [0, 1, 2]) {
      const all = Array.from({ length: count }, (_, n) =>
        randomTensor(
          [3, 4, 5].map((side, at) => (at === axis ? (n % 4) + (n === 1 ? 0 : 1) : side)),
          10 + n,
        ),
      );
      const alike = Array.from({ length: count }, (_, n) => randomTensor([3, 5], 40 + n));
      await expectSame(() => [tf.concat(all, axis), tf.concat(all, axis - 3), tf.stack(alike, axis)]);
      tf.dispose([...all, ...alike]);
    }
  });

  it("leaves empty, large and whole-number tensors to the stock programs or agrees with them", async () => {
    const [x, y] = [randomTensor([200, 100], 5), randomTensor([200, 3], 6)];
    const [whole, empty] = [tf.tensor2d([1, 2, 3, 4, 5, 6], [2, 3], "int32"), tf.zeros([0, 100])];
    await expectSame(() => [
      tf.concat([x, y, x], 1),
      tf.concat([x, empty as tf.Tensor, x] as tf.Tensor[], 0),
      x.slice([3, 5], [150, 80]),
      x.tile([1, 2]),
      whole.slice([0, 1], [2, 2]),
      whole.transpose(),
      whole.tile([2, 1]),
      tf.concat([whole, whole], 1),
    ]);
    tf.dispose([x, y, whole, empty]);
  });

  it("joins axes that are walked in one stride, and none that are padded", () => {
    const axis = (size: number, stride: number) => ({ size, stride, low: 0, count: size });
    expect(joinAxes([axis(2, 12), axis(3, 4), axis(4, 1)])).toEqual([axis(24, 1)]);
    expect(joinAxes([axis(4, 1), axis(3, 4)])).toEqual([axis(4, 1), axis(3, 4)]);
    expect(joinAxes([axis(2, 0), axis(3, 0), axis(1, 9), axis(4, 1)])).toEqual([axis(6, 0), axis(4, 1)]);
    const padded = { size: 5, stride: 4, low: 1, count: 3 };
    expect(joinAxes([padded, axis(4, 1)])).toEqual([padded, axis(4, 1)]);
  });
});

describe("flattened operations", () => {
  it.each([[[] as number[]], [[6]], [[3, 5]], [[2, 3, 4]], [[2, 3, 2, 3]]])("of %j", async (shape) => {
    const [x, y] = [randomTensor(shape, 7), randomTensor(shape, 8)];
    const flags = tf.tidy(() => x.greater(y));
    const others = tf.tidy(() => y.greater(0));
    await expectSame(() => [
      ...[x.abs(), x.neg(), x.square(), x.exp(), x.expm1(), x.floor(), x.sign(), x.relu(), x.step(0.25), x.sigmoid()],
      ...[x.softplus(), y.abs().sqrt(), y.abs().log(), x.clipByValue(-0.5, 0.5), tf.where(flags, x, y), x.tanh()],
      ...[flags.logicalAnd(others), flags.logicalOr(others), flags.logicalNot()],
      ...[tf.fill(shape, 3.5), tf.ones(shape), x.toInt().abs(), x.pow(y.round())],
    ]);
    tf.dispose([x, y, flags, others]);
  });

  it("keeps broadcast choices", async () => {
    const [x, y] = [randomTensor([4, 3], 9), randomTensor([4, 3], 10)];
    const flags = tf.tensor1d([1, 0, 1, 0], "bool");
    await expectSame(() => [tf.where(flags.reshape([4, 1]).tile([1, 3]), x, y)]);
    tf.dispose([x, y, flags]);
  });
});
