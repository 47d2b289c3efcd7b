/** Attention of any shape, order and mask. */
import fc from "fast-check";
import { afterEach, beforeAll, it } from "vitest";
import { attention, causalMask, HIDDEN_SCORE } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { setAttentionScratch } from "../../../src/engine/gpu/kernels/attention/attention-runs.ts";
import { setSubgroupSize, subgroupSize } from "../../../src/engine/gpu/runtime/custom-kernels.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, scale, side, tensorSeed } from "../../support/any.ts";
import { checkedGpu } from "../../support/gpu.ts";
import { expectLikeStock, randomTensor } from "../../support/kernels.ts";

let lanes = 0;
checkedGpu();
beforeAll(() => {
  lanes = subgroupSize();
});
afterEach(() => {
  setSubgroupSize(lanes);
  setAttentionScratch();
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
    // Later keys hidden, for a window as well, or nothing of the kind; then queries may be more than keys.
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

/** Hides some keys, of every row but not all; added to the scores it may take any shape that broadcasts. */
function maskOf({ batch, mask, seed }: Case, queries: number, keys: number): Tensor | undefined {
  return tf.tidy(() => {
    const hidden = new Float32Array(batch * keys);
    // The first key stays where nothing else is sure to be seen.
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
  await forAny(20, ATTENTION, async (drawn) => {
    const { batch, keyHeads, group, queries, more, width, order, scratch, subgroups, seed } = drawn;
    const [tq, tk] = order === "fewer keys" ? [queries + more, queries] : [queries, queries + more];
    setSubgroupSize(subgroups ? lanes : 0);
    setAttentionScratch(scratch);
    // With an order a row may be left without a key by the mask, and has no answer then.
    const mask = typeof order === "string" ? maskOf(drawn, tq, tk) : undefined;
    const inputs = [
      randomTensor([batch, keyHeads * group, tq, width], seed, drawn.scores),
      randomTensor([batch, keyHeads, tk, width], seed + 1),
      randomTensor([batch, keyHeads, tk, drawn.valueWidth ?? width], seed + 2),
    ];
    const run = (...[q, k, v, hidden]: Tensor[]): Tensor =>
      attention(q as Tensor, k as Tensor, v as Tensor, 0.3, hidden, typeof order === "string" ? undefined : order);
    // The slope of a score is a difference; where all weight lies on one key nothing but rounding is left of it.
    await expectLikeStock(run, inputs, 1e-4, 0.1, mask === undefined ? [] : [mask]);
    mask?.dispose();
  });
});
