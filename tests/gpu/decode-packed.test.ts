/** Decoding on the GPU over packed weights against the op layer's packed products with the sampler on the CPU. */
import { describe, expect, it } from "vitest";
import { WEIGHT_STORAGES, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import type { LanguageConfig, LanguageFamily } from "../../src/engine/model/language/config-language.ts";
import type { GenerateOptions } from "../../src/engine/policy/decode/completion.ts";
import { decodeBlocker } from "../../src/engine/policy/decode/decode-weights.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { expectLikeHost, packedLanguage } from "../support/decoding.ts";
import { checkedGpu } from "../support/gpu.ts";
import { tinyConfig } from "../support/tiny-language.ts";

checkedGpu();

const LIMIT = 2 ** 27;
/** Elements of a block that holds any matrix. */
const WHOLE = 2 ** 20;
const SHAPES = [
  { prefix: 9, tails: [3, 1, 5] },
  { prefix: 4, tails: [2, 2] },
];

/** As on the host, in both forms of the programs. */
async function expectSame(
  storage: WeightStorage,
  config: LanguageConfig,
  rank: number,
  changes: Partial<GenerateOptions> = {},
  forms: readonly boolean[] = [true],
  blockElements?: number,
): Promise<void> {
  const model = await packedLanguage(storage, config, rank, 1, blockElements);
  expect(decodeBlocker(model.weights, config, 20, LIMIT)).toBeUndefined();
  await expectLikeHost(model, SHAPES, changes, forms);
}

/** Sizes that packed rows are read in: eight at a time. */
const sized = (family: LanguageFamily, changes: Partial<LanguageConfig> = {}): LanguageConfig =>
  tinyConfig(family, { mlpSize: 40, ...changes });

describe("decoding on the GPU over packed weights gives the rows of the CPU sampler", () => {
  it.each(WEIGHT_STORAGES)("in %s, with and without an adapter", async (storage) => {
    await expectSame(storage, sized("qwen2"), 0);
    // In one block each, layers with the same input are one dispatch on a GPU.
    await expectSame(storage, sized("qwen2"), 8, {}, [false], WHOLE);
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
