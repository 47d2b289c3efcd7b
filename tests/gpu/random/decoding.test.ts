/** Decoding by our programs gives the rows of the host, whatever the model, the prompts and the sampler. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { WEIGHT_STORAGES } from "../../../src/engine/gpu/packed/storage.ts";
import { decodeOnGpu } from "../../../src/engine/policy/decode/decode-gpu.ts";
import { decodeBlocker, FOLD_BYTES } from "../../../src/engine/policy/decode/decode-weights.ts";
import { forAny, tensorSeed } from "../../support/any.ts";
import { expectLikeHost, keyOf, packedLanguage } from "../../support/decoding.ts";
import { checkedGpu } from "../../support/gpu.ts";
import { tinyConfig, tinyLanguage } from "../../support/tiny-language.ts";

checkedGpu();

const times = (step: number, most: number) => fc.integer({ min: 1, max: most }).map((count) => step * count);

const MODEL = fc.record({
  family: fc.constantFrom("qwen2", "qwen3", "llama", "internlm2", "phi3"),
  vocabSize: fc.oneof(fc.integer({ min: 30, max: 300 }), fc.integer({ min: 2000, max: 4200 })),
  hiddenSize: times(8, 12),
  mlpSize: times(8, 20),
  kvHeads: fc.integer({ min: 1, max: 4 }),
  group: fc.integer({ min: 1, max: 4 }),
  headSize: fc.constantFrom(8, 16, 24, 32),
  tiedHead: fc.boolean(),
  rank: fc.constantFrom(0, 4, 8, 20),
  // Undefined for tensors of the backend; those may have their branches folded in.
  storage: fc.option(fc.constantFrom(...WEIGHT_STORAGES), { nil: undefined }),
  folded: fc.boolean(),
  // Blocks of packed matrices: several, or one.
  block: fc.constantFrom(768, 2 ** 20),
});

const SAMPLER = fc.record({
  temperature: fc.constantFrom(0.6, 1, 1.4),
  guard: fc.constantFrom(Number.POSITIVE_INFINITY, 30, 1.5),
  topK: fc.constantFrom(0, 1, 5, 40),
  // No share of few equal ones, which would leave to rounding how many of them reach it.
  topP: fc.constantFrom(1, 0.8873, 0.5137),
  minP: fc.constantFrom(0, 0.05),
  repetitionPenalty: fc.constantFrom(1, 1.3),
});

const CASE = fc.record({
  model: MODEL,
  groups: fc.array(
    fc.record({
      prefix: fc.oneof(fc.nat(12), fc.integer({ min: 60, max: 140 })),
      tails: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  sampler: SAMPLER,
  greedy: fc.boolean(),
  maxNewTokens: fc.integer({ min: 1, max: 19 }),
  ends: fc.constantFrom(0, 3, 7),
  seed: tensorSeed,
});

it("rows of any model are those of the host", async () => {
  await forAny(4, CASE, async ({ model, groups, sampler, greedy, maxNewTokens, ends, seed }) => {
    const { group, rank, storage, folded, block, ...sizes } = model;
    const config = tinyConfig(model.family, { ...sizes, heads: sizes.kvHeads * group });
    const tiny =
      storage === undefined
        ? tinyLanguage(config, rank, seed)
        : await packedLanguage(storage, config, rank, seed, block);
    expect(decodeBlocker(tiny.weights, config, 200, 2 ** 27)).toBeUndefined();
    const where: typeof decodeOnGpu = (language, weights, prompts, address, options, ropeLength) =>
      decodeOnGpu(language, weights, prompts, address, options, ropeLength, folded ? FOLD_BYTES : 0);
    const stop = (ids: readonly number[]): boolean => ends > 0 && (ids[ids.length - 1] as number) % ends === 0;
    const key = (row: number, rollout: number) => keyOf(row, rollout, seed % 1000);
    await expectLikeHost(tiny, groups, { sampler, greedy, maxNewTokens, stop, key }, [true, false], where);
  });
});
