/**
 * Decoding on the GPU with packed and other weights, against packed products of the op layer with the sampler on the
 * CPU, for random models, prompts and samplers.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STAGED_BYTES } from "../../src/engine/gpu/decode/staged.ts";
import { formLimits } from "../../src/engine/gpu/forms/active.ts";
import { WEIGHT_STORAGES, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import type { LanguageConfig, LanguageFamily } from "../../src/engine/model/language/config-language.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { decodeBlocker, FOLD_BYTES } from "../../src/engine/policy/decode/decode-weights.ts";
import { FULL_SAMPLING, type GenerateOptions } from "../../src/engine/policy/decode/sampler.ts";
import { forAny, tensorSeed } from "../support/any.ts";
import { type DecodeForm, expectLikeHost, keyOf, LOADED, packedLanguage, WIDE } from "../support/decoding.ts";
import { recordedGpu } from "../support/naga.ts";
import { tinyConfig, tinyLanguage } from "../support/tiny-language.ts";

const naga = recordedGpu();

const LIMIT = 2 ** 27;
/** Elements per block that fit any matrix in one block. */
const WHOLE = 2 ** 20;
const SHAPES = [
  { prefix: 9, tails: [3, 1, 5] },
  { prefix: 4, tails: [2, 2] },
];
/**
 * In the form for GPUs rows come in fours: the programs for eight take twice as long to compile
 * (tests/gpu/decode.test.ts has them).
 */
const FEW = [
  { prefix: 9, tails: [3, 1] },
  { prefix: 4, tails: [2] },
];

/** As on the host, in both forms of the programs. */
async function expectSame(
  storage: WeightStorage,
  config: LanguageConfig,
  rank: number,
  changes: Partial<GenerateOptions> = {},
  forms: readonly DecodeForm[] = [true],
  blockElements?: number,
): Promise<void> {
  const model = await packedLanguage(storage, config, rank, 1, blockElements);
  expect(decodeBlocker(model.weights, config, 20, LIMIT)).toBeUndefined();
  await expectLikeHost(model, forms.some((form) => form !== true) ? FEW : SHAPES, changes, forms);
}

/** Sizes for which packed rows are read eight elements at a time. */
const sized = (family: LanguageFamily, changes: Partial<LanguageConfig> = {}): LanguageConfig =>
  tinyConfig(family, { mlpSize: 40, ...changes });

describe("decoding on the GPU over packed weights gives the rows of the CPU sampler", () => {
  it.each(WEIGHT_STORAGES)("in %s, with and without an adapter", async (storage) => {
    await expectSame(storage, sized("qwen2"), 0);
    // Layers with the same input in one block each are one dispatch on a GPU.
    await expectSame(storage, sized("qwen2"), 8, {}, [false, LOADED], WHOLE);
  });

  it.each(["q8", "q4"] as const)("in %s from inputs that four or eight tiles share, in two rounds", async (storage) => {
    // The last of 35 groups of 32 inputs has eight. One row, because each program for more takes seconds to compile.
    const config = sized("qwen2", { hiddenSize: 72, mlpSize: 1096, layers: 1 });
    expect(formLimits().maxComputeWorkgroupStorageSize).toBeGreaterThanOrEqual(STAGED_BYTES);
    const one = [{ prefix: 5, tails: [2] }];
    await expectLikeHost(await packedLanguage(storage, config, 8, 1, WHOLE), one, {}, [false, WIDE]);
    await expectLikeHost(await packedLanguage(storage, config, 0, 1), one, {}, [WIDE]);
  });

  it.each<LanguageFamily>(["internlm2", "phi3"])("for %s in q8", async (family) => {
    await expectSame("q8", sized(family), 4);
  });

  it("with a head that is the embedding, greedily, and with every step of the sampler", async () => {
    await expectSame("q4", sized("qwen2", { tiedHead: true }), 8, { greedy: true });
    const sampler = { ...FULL_SAMPLING, temperature: 1.3, topK: 20, topP: 0.9, minP: 0.02, repetitionPenalty: 1.2 };
    await expectSame("f16", sized("qwen2", { tiedHead: true }), 8, { sampler });
  });

  it("is refused for sizes that are not read eight at a time", async () => {
    const model = await packedLanguage("q8", tinyConfig("qwen2"), 4);
    expect(decodeBlocker(model.weights, model.config, 20, LIMIT)).toContain("eight at a time");
    expect(decodeBlocker((await packedLanguage("q8", sized("qwen2"), 4)).weights, sized("qwen2"), 20, 100)).toContain(
      "binding",
    );
    model.dispose();
  });
});

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
  // No top-p share of few equal tokens: rounding would decide how many of them reach it.
  topP: fc.constantFrom(1, 0.8873, 0.5137),
  minP: fc.constantFrom(0, 0.05),
  repetitionPenalty: fc.constantFrom(1, 1.3),
});

const groups = (groups: number, rows: number) =>
  fc.array(
    fc.record({
      prefix: fc.oneof(fc.nat(12), fc.integer({ min: 60, max: 140 })),
      tails: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: rows }),
    }),
    { minLength: 1, maxLength: groups },
  );

const CASE = fc.record({
  model: MODEL,
  // Rarely more than eight rows: a software adapter takes three seconds to compile each program for those.
  groups: fc.oneof({ weight: 15, arbitrary: groups(2, 4) }, { weight: 1, arbitrary: groups(3, 6) }),
  sampler: SAMPLER,
  greedy: fc.boolean(),
  maxCompletionLength: fc.integer({ min: 1, max: 19 }),
  ends: fc.constantFrom(0, 3, 7),
  seed: tensorSeed,
});

it("rows of any model are those of the host", async () => {
  await forAny(2, CASE, async ({ model, groups, sampler, greedy, maxCompletionLength, ends, seed }) => {
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
    await expectLikeHost(tiny, groups, { sampler, greedy, maxCompletionLength, stop, key }, [true, false], where);
  });
});

it("naga computes the same values, and the same bits twice", naga);
