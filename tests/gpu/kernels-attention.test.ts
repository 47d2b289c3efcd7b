/**
 * Attention against stock operations: narrow heads, whose programs keep a query or a key in registers, heads of any width,
 * and long sequences, whose scores are not kept.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  attendsInBlocks,
  attention,
  causalMask,
  HIDDEN_SCORE,
} from "../../src/engine/gpu/kernels/attention/attention.ts";
import { setAttentionScratch } from "../../src/engine/gpu/kernels/attention/attention-runs.ts";
import { setAdapterKind, setSubgroupSize, subgroupSize } from "../../src/engine/gpu/runtime/custom-op.ts";
import { flushBackend } from "../../src/engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../support/kernels.ts";

let lanes = 0;
beforeAll(async () => {
  await useGpu();
  lanes = subgroupSize();
});
afterEach(() => {
  setSubgroupSize(lanes);
  setAttentionScratch();
});

type Three = [Tensor, Tensor, Tensor];
type Sizes = readonly [batch: number, heads: number, keyHeads: number, queries: number, keys: number, width: number];

const CASES: readonly Sizes[] = [
  [1, 1, 1, 5, 5, 4],
  [2, 4, 2, 9, 9, 16],
  [2, 6, 2, 13, 21, 8],
  [1, 2, 1, 33, 40, 12],
  [1, 3, 3, 9, 70, 16],
  [2, 2, 2, 8, 8, 32],
  [1, 2, 2, 17, 17, 36],
];

const fresh = ([batch, heads, keyHeads, tq, tk, d]: Sizes, scale = 1): Three => [
  randomTensor([batch, heads, tq, d], 1, scale),
  randomTensor([batch, keyHeads, tk, d], 2, scale),
  randomTensor([batch, keyHeads, tk, d], 3),
];

/** Masks of every shape that a caller may give; each hides the first key of every row except row 0. */
function masks([batch, heads, , tq, tk]: Sizes): Tensor[] {
  return tf.tidy(() => {
    const hidden = new Float32Array(batch * tk);
    for (let row = 1; row < batch; row++) hidden[row * tk] = HIDDEN_SCORE;
    const padding = tf.tensor4d(hidden, [batch, 1, 1, tk]);
    return [padding, causalMask(tq, tk, tk - tq).add(padding), randomTensor([batch, heads, tq, tk], 4)];
  });
}

/** Cards have other programs for narrow heads. */
function expectSoftware(f: (...inputs: Tensor[]) => Tensor, inputs: Three, constants: readonly Tensor[] = []) {
  return expectLikeStock(f, inputs, 2e-5, 1e-30, constants, [true]);
}

describe.each([true, false])("narrow heads, with the lanes of subgroups: %s", (subgroups) => {
  it.each(CASES)("%i rows, %i query and %i key heads, %i over %i places of width %i", async (...sizes) => {
    if (!subgroups) setSubgroupSize(0);
    const given = masks(sizes);
    const run =
      (order?: { reach?: number }) =>
      (...[q, k, v, mask]: Tensor[]): Tensor =>
        attention(q as Tensor, k as Tensor, v as Tensor, 0.4, mask, order);
    for (const constants of [[], ...given.map((mask) => [mask])]) await expectSoftware(run(), fresh(sizes), constants);
    for (const order of [{}, { reach: 3 }, { reach: 1000 }]) await expectSoftware(run(order), fresh(sizes));
    // In blocks of few queries.
    setAttentionScratch(1);
    await expectSoftware(run(), fresh(sizes), given.slice(1, 2));
    await expectSoftware(run({ reach: 3 }), fresh(sizes));
    tf.dispose(given);
  });

  it("keep the weights of huge and of tiny scores", async () => {
    if (!subgroups) setSubgroupSize(0);
    for (const scale of [60, 1e-10]) {
      const run = (...[q, k, v]: Tensor[]): Tensor =>
        attention(q as Tensor, k as Tensor, v as Tensor, 1, undefined, {});
      await expectLikeStock(run, fresh([1, 2, 1, 20, 24, 16], scale), 1e-4, 10, [], [true]);
    }
  });
});

/** Leaves buffers of that many NaNs to the next caller that needs such a buffer. */
function poison(elements: number): void {
  if (tf.getBackend() !== "webgpu") return;
  tf.dispose(Array.from({ length: 4 }, () => tf.fill([elements], Number.NaN)));
  flushBackend();
}

/** Products read slightly beyond a row of scores, in tiles of rows and groups of keys. */
describe.each([
  [1, 2, 1, 45, 61, 40],
  [1, 4, 2, 66, 66, 64],
  [2, 2, 2, 19, 34, 72],
  [1, 2, 2, 37, 53, 16],
  [1, 2, 1, 1, 31, 64],
] as const)("%i rows, %i query and %i key heads, %i over %i places of width %i", (...sizes) => {
  it.each([undefined, {}, { reach: 7 }])("what the scratch held before does no harm, causality %o", async (order) => {
    const [batch, heads, , tq, tk] = sizes;
    const run = (...[q, k, v]: Tensor[]): Tensor => {
      for (const stride of [tk, 4 * Math.ceil(tk / 4)]) poison(batch * heads * tq * stride);
      return attention(q as Tensor, k as Tensor, v as Tensor, 0.3, undefined, order);
    };
    // The form for cards keeps these scores, with any mask, and multiplies by stock products.
    const forms = order === undefined && tq < 20 ? [true, false] : [true];
    await expectLikeStock(run, fresh(sizes), 2e-5, 1e-30, [], forms);
  });
});

describe("narrow heads", () => {
  it("have the gradient of finite differences", async () => {
    const sizes: Sizes = [1, 2, 1, 6, 7, 4];
    const inputs = fresh(sizes);
    const value = (...[q, k, v]: Tensor[]): Tensor =>
      attention(q as Tensor, k as Tensor, v as Tensor, 0.5, undefined, { reach: 4 })
        .square()
        .sum();
    const grads = tf.tidy(() => tf.grads(value)(inputs));
    for (const [n, input] of inputs.entries()) {
      const way = randomTensor(input.shape, 10 + n);
      const [up, down, along] = tf.tidy(() => {
        const at = (step: number): Tensor => value(...inputs.map((x, i) => (i === n ? x.add(way.mul(step)) : x)));
        return [at(1e-2), at(-1e-2), (grads[n] as Tensor).mul(way).sum()];
      }) as Three;
      const slope = (((await up.data())[0] as number) - ((await down.data())[0] as number)) / 2e-2;
      const found = (await along.data())[0] as number;
      expect(Math.abs(found - slope)).toBeLessThan(2e-3 * (1 + Math.abs(slope)));
      tf.dispose([way, up, down, along]);
    }
    tf.dispose([...inputs, ...grads]);
  });
});

describe("attention in both forms", () => {
  it.each([
    [1, 1, 1, 1, 1, 1],
    [2, 4, 2, 5, 5, 16],
    [3, 4, 1, 3, 9, 6],
  ])(
    "of %i rows, %i query and %i key heads, %i over %i places of width %i",
    async (batch, heads, keyHeads, tq, tk, d) => {
      const fresh = (): Three => [
        randomTensor([batch, heads, tq, d], 1),
        randomTensor([batch, keyHeads, tk, d], 2),
        randomTensor([batch, keyHeads, tk, d + 1], 3),
      ];
      const expectAttention = (mask?: Tensor, order?: { reach?: number }): Promise<void> =>
        expectLikeStock(
          (...[q, k, v, hidden]) => attention(q as Tensor, k as Tensor, v as Tensor, 0.4, hidden, order),
          fresh(),
          2e-5,
          1e-30,
          mask === undefined ? [] : [mask],
        );
      await expectAttention();
      const causal = causalMask(tq, tk, tk - tq);
      await expectAttention(causal);
      const hidden = new Float32Array(batch * tk);
      for (let row = 1; row < batch; row++) hidden[row * tk] = HIDDEN_SCORE;
      const padding = tf.tensor4d(hidden, [batch, 1, 1, tk]);
      const both = causal.add(padding);
      const everywhere = randomTensor([batch, heads, tq, tk], 4);
      for (const mask of [padding, both, everywhere]) await expectAttention(mask);
      // Causal without a mask, in runs of eight queries, with and without a window.
      setAttentionScratch(1);
      for (const order of [{}, { reach: 3 }]) {
        for (const mask of [undefined, padding]) {
          // A row that sees no key has no defined result.
          if (mask === undefined || (order.reach === undefined && tk > tq)) await expectAttention(mask, order);
        }
      }
      setAttentionScratch();
      tf.dispose([causal, padding, both, everywhere]);
    },
  );

  it("keeps no scores of long sequences, whatever the adapter", async () => {
    // Too wide for narrow heads, and with slightly too many scores to be kept.
    const [q, k] = [randomTensor([1, 6, 420, 36], 1), randomTensor([1, 2, 420, 36], 2)];
    try {
      for (const software of [true, false]) {
        setAdapterKind(software);
        expect(attendsInBlocks(q, k, k), software ? "software" : "card").toBe(true);
      }
    } finally {
      setAdapterKind(true);
    }
    const run = (...[q, k, v]: Tensor[]): Tensor =>
      attention(q as Tensor, k as Tensor, v as Tensor, 0.2, undefined, { reach: 50 });
    await expectLikeStock(run, [q, k, randomTensor([1, 2, 420, 36], 3)]);
  });

  it.each([true, false])("uses memory that grows with the length, not with its square (software: %s)", async (kind) => {
    setAdapterKind(kind);
    const peak = async (length: number): Promise<number> => {
      const [q, k, v] = [1, 2, 3].map((seed) => randomTensor([1, 1, length, 4], seed)) as Three;
      setAttentionScratch(64 * 1024);
      const pool = (tf.backend() as unknown as { bufferManager: { numBytesUsed: number } }).bufferManager;
      const before = pool.numBytesUsed;
      const y = attention(q, k, v, 0.5, undefined, {});
      const used = pool.numBytesUsed - before;
      await y.data();
      tf.dispose([q, k, v, y]);
      setAttentionScratch();
      return used;
    };
    const [short, long] = [await peak(1100), await peak(2200)];
    setAdapterKind(true);
    expect(long).toBeLessThan(2.2 * short);
    expect(long).toBeLessThan(2200 * 2200);
  });
});
