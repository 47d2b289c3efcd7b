/** Decoding on the GPU over packed weights against the op layer's packed products with the sampler on the CPU. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { memorySnapshot } from "../../src/engine/gpu/memory.ts";
import { setAdapterKind } from "../../src/engine/gpu/own-kernels.ts";
import { type PackedMatrix, packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { WEIGHT_STORAGES, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { STREAM } from "../../src/engine/gpu/random.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { LanguageConfig, LanguageFamily } from "../../src/engine/model/config-language.ts";
import { languageFamily } from "../../src/engine/model/language-families.ts";
import { languageLinears } from "../../src/engine/model/language-shapes.ts";
import type { Weights } from "../../src/engine/model/weights.ts";
import type { GenerateOptions, RowResult } from "../../src/engine/policy/completion.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode-gpu.ts";
import { decodeOnHost } from "../../src/engine/policy/decode-host.ts";
import { decodeObstacle } from "../../src/engine/policy/decode-weights.ts";
import { disposePrefilled, type PromptBatch, prefill } from "../../src/engine/policy/prefill.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/sampler.ts";
import { useGpu } from "../support/gpu.ts";
import { randomTensor } from "../support/kernels.ts";
import { tinyConfig, tinyLanguage } from "../support/tiny-language.ts";

let check: () => void;
beforeAll(async () => {
  const device = await useGpu();
  check = () => device.check();
});
afterEach(() => {
  setAdapterKind(true);
  check();
});

const LIMIT = 2 ** 27;
const SHAPES = [
  { prefix: 9, tails: [3, 1, 5] },
  { prefix: 4, tails: [2, 2] },
];

interface Packed {
  readonly config: LanguageConfig;
  readonly weights: Weights;
  dispose(): void;
}

/** A tiny model whose matrices are packed, in blocks of a dozen rows. */
async function packedModel(storage: WeightStorage, config: LanguageConfig, rank: number): Promise<Packed> {
  const model = tinyLanguage(config, rank);
  const { embedding, head } = languageFamily(config);
  const names = [embedding, ...(config.tiedHead ? [] : [head])].concat(
    languageLinears(config).map(({ path }) => `${path}.weight`),
  );
  const packed = new Map<string, PackedMatrix>();
  for (const name of names) {
    const tensor = model.weights.get(name);
    const values = new Float32Array((await tensor.data()) as Float32Array);
    packed.set(name, packMatrix(values, tensor.shape as [number, number], storage, 12 * 64));
  }
  return {
    config,
    weights: {
      ...model.weights,
      findMatrix: (name) => packed.get(name) ?? model.weights.findMatrix(name),
      matrix: (name) => packed.get(name) ?? model.weights.matrix(name),
    },
    dispose() {
      for (const matrix of packed.values()) matrix.dispose();
      model.dispose();
    },
  };
}

async function decode(
  model: Packed,
  changes: Partial<GenerateOptions>,
  where: typeof decodeOnGpu,
): Promise<RowResult[]> {
  const options: GenerateOptions = {
    maxNewTokens: 7,
    sampler: FULL_SAMPLING,
    greedy: false,
    key: (row, rollout) => ({ seed: 7, step: 3, loop: 1, row, rollout, position: 0, stream: STREAM.token }),
    stop: () => false,
    ...changes,
  };
  const groups = SHAPES.map(
    ({ prefix, tails }, group): PromptBatch => ({
      prefix: randomTensor([1, prefix, model.config.hiddenSize], 100 + group),
      tails: randomTensor([tails.length, Math.max(...tails), model.config.hiddenSize], 200 + group),
      tailLengths: tails,
      promptIds: [1, 2, 3, 40 + group],
    }),
  );
  const address = groups.flatMap(({ tailLengths, promptIds }, group) =>
    tailLengths.map((_, rollout) => ({ key: options.key(group, rollout), promptIds: promptIds ?? [] })),
  );
  const prompts = prefill(model.weights, model.config, groups);
  try {
    return await where(model.config, model.weights, prompts, address, options);
  } finally {
    disposePrefilled(prompts);
    tf.dispose(groups.flatMap(({ prefix, tails }) => [prefix, tails]));
  }
}

/** Same ids, log-probabilities and entropies within 1e-4, twice the same, in both forms of the programs. */
async function expectLikeHost(
  storage: WeightStorage,
  config: LanguageConfig,
  rank: number,
  changes: Partial<GenerateOptions> = {},
  forms: readonly boolean[] = [true],
): Promise<void> {
  const model = await packedModel(storage, config, rank);
  try {
    expect(decodeObstacle(model.weights, config, 20, LIMIT)).toBeUndefined();
    const expected = await decode(model, changes, decodeOnHost);
    for (const software of forms) {
      setAdapterKind(software);
      const tensors = memorySnapshot().tensors;
      const found = await decode(model, changes, decodeOnGpu);
      expect(memorySnapshot().tensors).toBe(tensors);
      expect(found.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids));
      found.forEach(({ logps, entropies }, row) => {
        const other = expected[row] as RowResult;
        for (const [at, value] of logps.entries())
          expect(Math.abs(value - (other.logps[at] as number))).toBeLessThan(1e-4);
        for (const [at, value] of entropies.entries())
          expect(Math.abs(value - (other.entropies[at] as number))).toBeLessThan(1e-4);
      });
      expect(await decode(model, changes, decodeOnGpu)).toEqual(found);
    }
  } finally {
    model.dispose();
  }
}

/** Sizes that packed rows are read in: eight at a time. */
const sized = (family: LanguageFamily, changes: Partial<LanguageConfig> = {}): LanguageConfig =>
  tinyConfig(family, { mlpSize: 40, ...changes });

describe("decoding on the GPU over packed weights gives the rows of the CPU sampler", () => {
  it.each(WEIGHT_STORAGES)("in %s, with and without an adapter", async (storage) => {
    await expectLikeHost(storage, sized("qwen2"), 0, {}, [true, false]);
    await expectLikeHost(storage, sized("qwen2"), 8);
  });

  it.each<LanguageFamily>(["internlm2", "phi3"])("for %s in q8", async (family) => {
    await expectLikeHost("q8", sized(family), 4);
  });

  it("with a head that is the embedding, greedily, and with every step of the sampler", async () => {
    await expectLikeHost("q4", sized("qwen2", { tiedHead: true }), 8, { greedy: true });
    const sampler = { ...FULL_SAMPLING, temperature: 1.3, topK: 20, topP: 0.9, minP: 0.02, repetitionPenalty: 1.2 };
    await expectLikeHost("f16", sized("qwen2", { tiedHead: true }), 8, { sampler });
  });

  it("is refused for sizes that are not read eight at a time", async () => {
    const model = await packedModel("q8", tinyConfig("qwen2"), 4);
    expect(decodeObstacle(model.weights, model.config, 20, LIMIT)).toContain("eight at a time");
    expect(decodeObstacle((await packedModel("q8", sized("qwen2"), 4)).weights, sized("qwen2"), 20, 100)).toContain(
      "binding",
    );
    model.dispose();
  });
});
