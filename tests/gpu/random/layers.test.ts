/** Norms, activations, rotations, resizing, token scores and attention of any shape. */
import fc from "fast-check";
import { afterEach, beforeAll, it } from "vitest";
import { gelu, silu, swiglu } from "../../../src/engine/gpu/kernels/activation.ts";
import { attention, causalMask, HIDDEN_SCORE } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { setAttentionScratch } from "../../../src/engine/gpu/kernels/attention/attention-runs.ts";
import { headScores, setHeadScratch } from "../../../src/engine/gpu/kernels/attention/head-scores.ts";
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { layerNorm, rmsNorm } from "../../../src/engine/gpu/kernels/norm.ts";
import { repeatRows } from "../../../src/engine/gpu/kernels/repeat.ts";
import { resizeBilinear } from "../../../src/engine/gpu/kernels/resize.ts";
import { applyRope, ropeTable } from "../../../src/engine/gpu/kernels/rope.ts";
import { setSubgroupSize, subgroupSize } from "../../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, scale, shape, side, tensorSeed } from "../../support/any.ts";
import { expectLikeStock, randomTensor } from "../../support/kernels.ts";
import { recordedGpu } from "../../support/naga.ts";

let lanes = 0;
const naga = recordedGpu();
beforeAll(() => {
  lanes = subgroupSize();
});
afterEach(() => {
  setHeadScratch();
  setSubgroupSize(lanes);
  setAttentionScratch();
});

it("norms", async () => {
  const drawn = fc.record({
    rows: shape([0, 3], 90, 4000),
    width: fc.oneof(side(300), side(5000)).filter((width) => width > 1),
    size: scale(-4, -1, 0, 4),
    seed: tensorSeed,
  });
  await forAny(6, drawn, async ({ rows, width, size, seed }) => {
    if (rows.reduce((product, side) => product * side, width) > 60_000) return;
    const fresh = (): [Tensor, Tensor, Tensor] => [
      randomTensor([...rows, width], seed, size),
      randomTensor([width], seed + 1),
      randomTensor([width], seed + 2),
    ];
    const [x, weight, bias] = fresh();
    bias.dispose();
    await expectLikeStock((x, w) => rmsNorm(x as Tensor, w as Tensor, 1e-6), [x, weight], 1e-4);
    // Two elements are their mean plus and minus the same number: almost no gradient, and much cancellation.
    if (width < 4) return;
    const norm = (...[x, w, b]: Tensor[]): Tensor => layerNorm(x as Tensor, w as Tensor, b as Tensor, 1e-6);
    await expectLikeStock(norm, fresh(), 1e-3);
  });
});

it("norms of rows that a card keeps in registers", async () => {
  const drawn = fc.record({
    rows: fc.integer({ min: 1, max: 9 }),
    // Up to 2048 elements are kept, and more are read again.
    width: fc.integer({ min: 1, max: 520 }).map((groups) => 4 * groups),
    size: scale(-1, 0, 2),
    seed: tensorSeed,
  });
  await forAny(3, drawn, async ({ rows, width, size, seed }) => {
    const weights = (): [Tensor, Tensor] => [randomTensor([width], seed + 1), randomTensor([width], seed + 2)];
    const norm = (...[x, w, b]: Tensor[]): Tensor => layerNorm(x as Tensor, w as Tensor, b as Tensor, 1e-6);
    const inputs = [randomTensor([rows, width], seed, size), ...weights()];
    await expectLikeStock(norm, inputs, 1e-4, undefined, [], [false]);
    const [weight, unused] = weights();
    unused.dispose();
    const root = (x?: Tensor, w?: Tensor): Tensor => rmsNorm(x as Tensor, w as Tensor, 1e-6);
    await expectLikeStock(root, [randomTensor([rows, width], seed, size), weight], 1e-4, undefined, [], [false]);
  });
});

it("activations and repeated rows", async () => {
  const drawn = fc.record({
    sides: shape([1, 4], 200, 30_000),
    size: scale(-20, -5, 0, 1, 2),
    times: side(40),
    seed: tensorSeed,
  });
  await forAny(5, drawn, async ({ sides, size, times, seed }) => {
    const x = (more = 0): Tensor => randomTensor(sides, seed + more, size);
    // Far from 0 the slope is only rounding error.
    const least = [1e-3 * size, 1e-3];
    await expectLikeStock((x) => gelu(x as Tensor), [x()], 2e-5, least);
    await expectLikeStock((x) => silu(x as Tensor), [x()], 2e-5, least);
    await expectLikeStock((...[g, u]) => swiglu(g as Tensor, u as Tensor), [x(), x(1)]);
    const one = [1, ...sides.slice(1)];
    const many = Math.max(2, Math.min(times, Math.floor(30_000 / tf.util.sizeFromShape(one))));
    await expectLikeStock((x) => repeatRows(x as Tensor, many), [randomTensor(one, seed, size)]);
  });
});

it("rotations", async () => {
  const drawn = fc.record({
    batch: side(5),
    heads: side(9),
    length: side(70),
    half: side(40),
    shared: fc.boolean(),
    first: fc.integer({ min: 0, max: 5000 }),
    seed: tensorSeed,
  });
  await forAny(4, drawn, async ({ batch, heads, length, half, shared, first, seed }) => {
    const rows = Array.from({ length: shared ? 1 : batch }, (_, row) =>
      Array.from({ length }, (_, at) => first + 3 * row + at),
    );
    const table = ropeTable(rows, 2 * half, 10_000);
    await expectLikeStock((x) => applyRope(x as Tensor, table), [randomTensor([batch, heads, length, 2 * half], seed)]);
    tf.dispose([table.cos, table.sin]);
  });
});

it("bilinear resizing", async () => {
  const drawn = fc.record({
    sides: shape([4, 4], 60, 8000),
    height: side(90),
    width: side(90),
    size: scale(-20, 0, 20),
    seed: tensorSeed,
  });
  await forAny(5, drawn, async ({ sides, height, width, size, seed }) => {
    const [batch, , , channels] = sides as [number, number, number, number];
    if (batch * channels * height * width > 60_000) return;
    await expectLikeStock(
      (x) => resizeBilinear(x as Tensor, height, width),
      [randomTensor(sides, seed, size)],
      // Stock sums of many gradients of one place differ by their order.
      5e-5,
    );
  });
});

const SCORED = {
  rows: side(20),
  temperature: fc.constantFrom(0.3, 0.7, 1, 1.3),
  guard: fc.constantFrom(Number.POSITIVE_INFINITY, 30, 2),
  seed: tensorSeed,
};

function chosen(rows: number, width: number, seed: number): Tensor {
  const ids = Array.from({ length: rows }, (_, row) => (row * 7919 + seed) % width);
  return tf.tensor1d(ids, "int32");
}

it("token scores", async () => {
  const width = fc.oneof(
    side(400).map((width) => width + 1),
    fc.integer({ min: 2040, max: 2060 }),
    fc.integer({ min: 4000, max: 9000 }),
  );
  const drawn = fc.record({ ...SCORED, width, size: scale(-3, 0, 1, 3) });
  await forAny(5, drawn, async ({ rows, width, size, temperature, guard, seed }) => {
    if (rows * width > 40_000) return;
    const ids = chosen(rows, width, seed);
    const score = (logits?: Tensor): Tensor =>
      tf.stack(Object.values(tokenScores(logits as Tensor, ids, temperature, guard)));
    await expectLikeStock(score, [randomTensor([rows, width], seed, size)], 3e-4, 1e-2);
    ids.dispose();
  });
});

it("token scores of a head, block by block", async () => {
  const vocabulary = fc.oneof(
    side(400).map((width) => width + 1),
    fc.integer({ min: 2040, max: 2060 }),
    fc.integer({ min: 4000, max: 9000 }),
  );
  const drawn = fc.record({ ...SCORED, width: side(40), vocabulary, spans: fc.integer({ min: 1, max: 3 }) });
  await forAny(4, drawn, async ({ rows, width, vocabulary, spans, temperature, guard, seed }) => {
    if (rows * width * vocabulary > 1e6) return;
    setHeadScratch(rows * 4 * 2048 * spans);
    const ids = chosen(rows, vocabulary, seed);
    const score = (...[hidden, head]: Tensor[]): Tensor =>
      tf.stack(Object.values(headScores(hidden as Tensor, head as Tensor, ids, temperature, guard)));
    const inputs = [randomTensor([rows, width], seed), randomTensor([vocabulary, width], seed + 1)];
    await expectLikeStock(score, inputs, 1e-4, 1e-2);
    ids.dispose();
  });
});

const ATTENTION = fc
  .record({
    batch: fc.integer({ min: 1, max: 5 }),
    keyHeads: fc.integer({ min: 1, max: 4 }),
    group: fc.integer({ min: 1, max: 4 }),
    queries: side(130),
    more: fc.oneof(fc.constant(0), side(80)),
    width: side(80),
    valueWidth: fc.option(side(80), { nil: undefined }),
    // Later keys hidden, with or without a window, or none; only then may there be more queries than keys.
    order: fc.oneof(
      fc.constantFrom("all", "fewer keys" as const),
      fc.oneof(fc.constant({}), fc.record({ reach: fc.integer({ min: 2, max: 140 }) })),
    ),
    mask: fc.constantFrom("none", "padding", "causal", "places", "rows"),
    scores: scale(-1, 0),
    scratch: fc.constantFrom(undefined, 1, 20_000),
    subgroups: fc.boolean(),
    seed: tensorSeed,
  })
  .filter(({ batch, keyHeads, group, queries, more, width }) => {
    return batch * keyHeads * group * queries * (queries + more) * width <= 2e6;
  });

type Case = typeof ATTENTION extends fc.Arbitrary<infer T> ? T : never;

/** Hides some keys, not the same in every row; it is added to the scores and may take any shape that broadcasts. */
function maskOf({ batch, mask, seed }: Case, queries: number, keys: number): Tensor | undefined {
  return tf.tidy(() => {
    const hidden = new Float32Array(batch * keys);
    // The first key stays visible unless another key is sure to be.
    for (let row = 0; row < batch; row++)
      hidden.fill(HIDDEN_SCORE, row * keys + 1, row * keys + 1 + ((row * 3) % keys));
    const padding = tf.tensor4d(hidden, [batch, 1, 1, keys]);
    if (mask === "padding") return padding;
    if (mask === "causal") return causalMask(queries, keys, Math.max(0, keys - queries)).add(padding);
    if (mask === "places") return randomTensor([1, 1, queries, keys], seed + 4);
    return mask === "rows" ? randomTensor([batch, 1, queries, keys], seed + 5) : undefined;
  });
}

it("attention of any shape, order and mask has stock values and gradients", async () => {
  await forAny(6, ATTENTION, async (drawn) => {
    const { batch, keyHeads, group, queries, more, width, order, scratch, subgroups, seed } = drawn;
    const [tq, tk] = order === "fewer keys" ? [queries + more, queries] : [queries, queries + more];
    setSubgroupSize(subgroups ? lanes : 0);
    setAttentionScratch(scratch);
    // With causal order the mask may leave a row without a key, and then without a defined result.
    const mask = typeof order === "string" ? maskOf(drawn, tq, tk) : undefined;
    const inputs = [
      randomTensor([batch, keyHeads * group, tq, width], seed, drawn.scores),
      randomTensor([batch, keyHeads, tk, width], seed + 1),
      randomTensor([batch, keyHeads, tk, drawn.valueWidth ?? width], seed + 2),
    ];
    const run = (...[q, k, v, hidden]: Tensor[]): Tensor =>
      attention(q as Tensor, k as Tensor, v as Tensor, 0.3, hidden, typeof order === "string" ? undefined : order);
    // The gradient of a score is a difference; where all weight lies on one key only rounding error is left.
    await expectLikeStock(run, inputs, 1e-4, 0.1, mask === undefined ? [] : [mask]);
    mask?.dispose();
  });
});

it("naga computes the same values, and the same bits twice", naga);
