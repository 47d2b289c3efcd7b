/** Moves, element-wise operations and sums, over tensors of any shape. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { fourierRows } from "../../../src/engine/gpu/kernels/fourier.ts";
import { placedRows } from "../../../src/engine/gpu/kernels/placed-rows.ts";
import { setAdapterKind, switchCustomKernels } from "../../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, scale, shape, side, tensorSeed } from "../../support/any.ts";
import { expectLikeStock, randomTensor } from "../../support/kernels.ts";
import { recordedGpu } from "../../support/naga.ts";
import { expectSameBits } from "../../support/same-bits.ts";

const naga = recordedGpu();

const ELEMENTS = 20_000;

/** Shapes, types and bits of the result of `f`, which owns its tensors. */
async function bits(f: () => Tensor[]): Promise<[number[], string, Uint8Array][]> {
  const results = tf.tidy(f);
  const read: [number[], string, Uint8Array][] = [];
  for (const result of results) {
    const { buffer, byteOffset, byteLength } = await result.data();
    read.push([result.shape, result.dtype, new Uint8Array(buffer, byteOffset, byteLength)]);
  }
  tf.dispose(results);
  return read;
}

/** Both forms of our programs give the stock result bit for bit and leave no tensor. */
async function expectSame(f: () => Tensor[]): Promise<void> {
  const tensors = tf.memory().numTensors;
  switchCustomKernels(false);
  const expected = await bits(f);
  switchCustomKernels(true);
  for (const software of [true, false]) {
    setAdapterKind(software);
    const what = software ? "software form" : "GPU form";
    const found = await bits(f);
    expect(found.map(([sides, type]) => [sides, type])).toEqual(expected.map(([sides, type]) => [sides, type]));
    for (const [at, [, , bytes]] of found.entries()) expectSameBits(bytes, expected[at]?.[2], `${what}, result ${at}`);
  }
  setAdapterKind(true);
  expect(tf.memory().numTensors).toBe(tensors);
}

/** A shape, and a whole number below 1,000 for each of its axes to choose with. */
const CHOSEN = shape([1, 6], 200, ELEMENTS).chain((sides) =>
  fc.record({
    sides: fc.constant(sides),
    choices: fc.array(fc.nat(999), { minLength: sides.length, maxLength: sides.length }),
    order: fc.shuffledSubarray(
      sides.map((_, axis) => axis),
      { minLength: sides.length },
    ),
    seed: tensorSeed,
  }),
);

it("cuts, turns, repetitions, paddings and joins of any shape keep every bit", async () => {
  await forAny(8, CHOSEN, async ({ sides, choices, order, seed }) => {
    const x = randomTensor(sides, seed);
    const small = sides.map((_, axis) => 1 + ((choices[axis] as number) % 3));
    const begin = sides.map((size, axis) => (choices[axis] as number) % size);
    const rest = sides.map((size, axis) => 1 + (((choices[axis] as number) * 7) % (size - (begin[axis] as number))));
    const axis = order[0] as number;
    const fits = x.size * small.reduce((product, times) => product * times, 1) <= 4 * ELEMENTS;
    const length = sides[axis] as number;
    const first = 1 + ((choices[axis] as number) % length);
    await expectSame(() => [
      x.slice(begin, rest),
      x.transpose(order),
      ...(fits && sides.length <= 4 ? [tf.tile(x, small)] : []),
      ...(sides.length <= 4
        ? [
            tf.pad(
              x,
              small.map((low, at) => [low - 1, (choices[at] as number) % 2]),
              0.5,
            ),
          ]
        : []),
      ...(sides.length <= 4
        ? [tf.concat([x, x.slice(begin.map((from, at) => (at === axis ? from : 0))), x], axis)]
        : []),
      ...(sides.length <= 4 ? tf.split(x, [first, length - first].filter(Boolean), axis) : []),
      ...(sides.length <= 5 ? [tf.stack([x, x], axis), ...tf.unstack(x, axis).slice(0, 3)] : []),
    ]);
    x.dispose();
  });
});

/** Two shapes that broadcast to one shape. */
const BROADCAST = shape([1, 4], 120, ELEMENTS).chain((sides) =>
  fc.record({
    left: fc.constant(sides),
    right: fc
      .tuple(fc.nat(sides.length), fc.array(fc.boolean(), { minLength: sides.length, maxLength: sides.length }))
      .map(([from, ones]) => sides.map((size, axis) => (ones[axis] === true ? 1 : size)).slice(from)),
    swapped: fc.boolean(),
    size: scale(-30, 0, 30),
    seed: tensorSeed,
  }),
);

it("arithmetic and comparisons of shapes that broadcast keep every bit", async () => {
  await forAny(4, BROADCAST, async ({ left, right, swapped, size, seed }) => {
    const [x, y] = [randomTensor(left, seed, size), randomTensor(right, seed + 1)];
    const [a, b] = swapped ? [y, x] : [x, y];
    await expectSame(() => [
      ...[a.add(b), a.sub(b), a.mul(b), a.div(b), a.maximum(b), a.minimum(b), a.squaredDifference(b), a.square()],
      ...[a.greater(b), a.greaterEqual(b), a.less(b), a.lessEqual(b), a.equal(b), a.notEqual(b)],
      ...[a.abs(), a.exp(), a.sigmoid(), a.neg(), tf.where(a.greater(0), a, a.neg())],
    ]);
    tf.dispose([x, y]);
  });
});

const SUMMED = shape([1, 5], 300, ELEMENTS).chain((sides) =>
  fc.record({
    sides: fc.constant(sides),
    axes: fc.subarray(
      sides.map((_, axis) => axis),
      { minLength: 1 },
    ),
    keep: fc.boolean(),
    long: side(30),
    seed: tensorSeed,
  }),
);

it("sums and means over any axes have stock values and gradients", async () => {
  await forAny(8, SUMMED, async ({ sides, axes, keep, long, seed }) => {
    await expectLikeStock((x) => (x as Tensor).sum(axes, keep), [randomTensor(sides, seed)], 5e-5, 1);
    await expectLikeStock((x) => (x as Tensor).mean(axes, keep), [randomTensor(sides, seed)], 5e-5, [0.1, 1e-4]);
    await expectLikeStock((x) => (x as Tensor).mean(), [randomTensor([long, 700], seed)], 5e-5, [0.1, 1e-6]);
  });
});

it("rows of two arrays in any order, any of them often, never or not at all, with their gradients", async () => {
  const sizes = fc.record({ first: side(40), second: side(40), groups: side(80), length: side(90) });
  const drawn = sizes.chain((chosen) =>
    fc.record({
      ...Object.fromEntries(Object.entries(chosen).map(([name, size]) => [name, fc.constant(size)])),
      order: fc.array(fc.integer({ min: -1, max: chosen.first + chosen.second - 1 }), {
        minLength: chosen.length,
        maxLength: chosen.length,
      }),
      seed: tensorSeed,
    }),
  ) as fc.Arbitrary<{ first: number; second: number; groups: number; order: number[]; seed: number }>;
  await forAny(5, drawn, async ({ first, second, groups, order, seed }) => {
    const rows = [randomTensor([first, 4 * groups], seed), randomTensor([second, 4 * groups], seed + 1)] as const;
    await expectLikeStock((one, other) => placedRows(one as Tensor, other as Tensor, order), rows, 1e-6);
    tf.dispose([...rows]);
  });
});

it("image positions of any grid are the sines and cosines of double precision", async () => {
  const grids = fc.record({ height: side(40), width: side(40), columns: side(20), seed: tensorSeed });
  await forAny(4, grids, async ({ height, width, columns, seed }) => {
    const matrix = randomTensor([2, columns], seed);
    const values = await matrix.data();
    const found = fourierRows(matrix, height, width);
    const expected = Array.from({ length: height * width }, (_, cell) => {
      const x = (2 * ((cell % width) + 0.5)) / width - 1;
      const y = (2 * (Math.floor(cell / width) + 0.5)) / height - 1;
      const angles = Array.from(
        { length: columns },
        (_, column) => 2 * Math.PI * (x * (values[column] as number) + y * (values[columns + column] as number)),
      );
      return [...angles.map(Math.sin), ...angles.map(Math.cos)];
    }).flat();
    expect(found.shape).toEqual([height * width, 2 * columns]);
    const read = await found.data();
    expected.forEach((value, i) => {
      expect(Math.abs((read[i] as number) - value)).toBeLessThan(5e-6);
    });
    tf.dispose([matrix, found]);
  });
});

it("naga computes the same values, and the same bits twice", naga);
