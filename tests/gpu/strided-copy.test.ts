/** Transposes, slices, concatenations and repetitions in runs, bit for bit equal to the stock ones. */
import { beforeAll, describe, expect, it } from "vitest";
import { switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { uploadNow } from "../../src/engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { joinedAxes, stridedCopy } from "../../src/engine/gpu/tfjs/strided-copy.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../support/kernels.ts";
import { expectSameBits } from "../support/same-bits.ts";

beforeAll(async () => {
  await useGpu();
});

/** On the GPU, with a few numbers that arithmetic might change. */
function onGpu(shape: readonly number[], seed: number): Tensor {
  const odd = [Number.POSITIVE_INFINITY, -0, 1e-42, 3e38];
  const size = tf.util.sizeFromShape([...shape]);
  const x = tf.tensor(
    Float32Array.from({ length: size }, (_, at) => odd[at] ?? Math.sin(at * 1.7 + seed)),
    [...shape],
  );
  uploadNow(x);
  return x;
}

async function expectSameMoves(f: (...inputs: Tensor[]) => Tensor | Tensor[], inputs: Tensor[]): Promise<void> {
  const bits = async (): Promise<Uint32Array[]> => {
    const made = [tf.tidy(() => f(...inputs))].flat();
    const arrays: Uint32Array[] = [];
    for (const tensor of made) arrays.push(new Uint32Array((await tensor.data()).slice().buffer));
    const shapes = made.map(({ shape }) => shape.length);
    tf.dispose(made);
    return [...arrays, Uint32Array.from(shapes)];
  };
  try {
    switchCustomKernels(false);
    const expected = await bits();
    switchCustomKernels(true);
    const found = await bits();
    expect(found).toHaveLength(expected.length);
    for (const [at, array] of expected.entries()) expectSameBits(found[at] as Uint32Array, array);
  } finally {
    switchCustomKernels(true);
  }
}

const random = (seed: number) => {
  let state = seed * 2654435761;
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return state % below;
  };
};

describe("moves of elements", () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed + 1))("change no bit of a random tensor (%i)", async (seed) => {
    const draw = random(seed);
    const rank = 1 + draw(5);
    const shape = Array.from({ length: rank }, () => [1, 2, 3, 4, 8, 17][draw(6)] as number);
    const perm = shape.map((_, axis) => axis).sort((a, b) => ((a * 7 + seed) % 5) - ((b * 7 + seed) % 5) || b - a);
    const begin = shape.map((side) => draw(side));
    const size = shape.map((side, axis) => 1 + draw(side - (begin[axis] as number)));
    const axis = draw(rank);
    const reps = shape.map(() => 1 + draw(3));
    const [x, y, z] = [onGpu(shape, seed), onGpu(shape, seed + 50), onGpu(shape, seed + 90)];
    await expectSameMoves((a) => tf.transpose(a as Tensor, perm), [x]);
    await expectSameMoves((a) => tf.slice(a as Tensor, begin, size), [x]);
    await expectSameMoves((...all) => tf.concat(all, axis), [x, y, z]);
    // The stock operation repeats five axes on the host, where a tensor on the GPU cannot be read.
    if (rank < 5) await expectSameMoves((a) => tf.tile(a as Tensor, reps), [x]);
    await expectSameMoves((a) => tf.split(tf.concat([a as Tensor, a as Tensor], axis), 2, axis), [x]);
    tf.dispose([x, y, z]);
  });

  it.each([
    [
      [8, 64, 4, 16],
      [0, 2, 1, 3],
    ],
    [
      [2, 33, 65],
      [2, 1, 0],
    ],
    [
      [130, 70],
      [1, 0],
    ],
    [
      [2, 2, 2, 2, 2, 2],
      [5, 4, 3, 2, 1, 0],
    ],
  ] as const)("of %j to the order %j equal the stock ones, and so do their gradients", async (shape, perm) => {
    await expectLikeStock((x) => tf.transpose(x as Tensor, [...perm]), [randomTensor(shape, 1)]);
  });

  it("join, cut and repeat large tensors, gradients included", async () => {
    const pair = (): Tensor[] => [randomTensor([3, 200, 37], 1), randomTensor([3, 9, 37], 2)];
    await expectLikeStock((a, b) => tf.concat([a as Tensor, b as Tensor], 1), pair());
    await expectLikeStock((a) => tf.slice(a as Tensor, [1, 3, 5], [2, 130, 32]), [randomTensor([3, 200, 37], 1)]);
    await expectLikeStock((a) => tf.tile(a as Tensor, [2, 1, 3]), [randomTensor([2, 70, 33], 1)]);
    await expectLikeStock(
      (a) => tf.concat(tf.split(a as Tensor, [3, 1, 4], 2).reverse(), 2),
      [randomTensor([5, 9, 8], 1)],
    );
  });

  it("of whole numbers and flags are exact", async () => {
    const ids = tf.tensor2d([1, 2, 3, 2 ** 23, 5, 6], [2, 3], "int32");
    const turned = tf.tidy(() => tf.transpose(ids).greater(2));
    expect(Array.from(await turned.data())).toEqual([0, 1, 0, 1, 1, 1]);
    tf.dispose([ids, turned]);
  });

  it("of an empty tensor are empty", async () => {
    const some = onGpu([2, 3], 1);
    const none = tf.slice(some, [0, 0], [0, 3]);
    const joined = tf.concat([none, some], 0);
    expect(none.shape).toEqual([0, 3]);
    expect(Array.from(await joined.data())).toEqual(Array.from(await some.data()));
    tf.dispose([some, none, joined]);
  });
});

describe("a strided copy", () => {
  it("joins axes that chain and leaves out those of one element", () => {
    const chain = [
      { size: 2, from: 12, to: 12 },
      { size: 1, from: 7, to: 9 },
      { size: 3, from: 4, to: 4 },
      { size: 4, from: 1, to: 1 },
    ];
    expect(joinedAxes(chain)).toEqual([{ size: 24, from: 1, to: 1 }]);
    expect(joinedAxes([{ size: 1, from: 3, to: 3 }])).toEqual([{ size: 1, from: 1, to: 1 }]);
    expect(
      joinedAxes([
        { size: 2, from: 0, to: 3 },
        { size: 3, from: 1, to: 1 },
      ]),
    ).toHaveLength(2);
  });

  it("declines more axes than it knows", () => {
    const x = tf.zeros([2, 2, 2, 2, 2, 2]);
    const axes = [32, 16, 8, 4, 2, 1].map((to, at) => ({ size: 2, from: 2 ** at, to }));
    expect(stridedCopy(x, { shape: x.shape }, { axes, fromAt: 0, toAt: 0 })).toBeUndefined();
    x.dispose();
  });
});
