/** Arithmetic and comparisons by our programs, against stock ones on the CPU, bit for bit. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { broadcastAxes } from "../../src/engine/gpu/tfjs/elementwise.ts";
import { useGpu } from "../support/gpu.ts";
import { onCpu, randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
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
    for (const scale of [1, 1e-30, 1e30]) {
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
      expect(await all(a, b)).toEqual(stock);
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
