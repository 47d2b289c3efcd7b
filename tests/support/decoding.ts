/** Tiny language models decoded twice: by our programs, and by the model's own forward pass with the sampler on the CPU. */
import { expect } from "vitest";
import { setAdapterClass } from "../../src/engine/gpu/forms/active.ts";
import { type PackedMatrix, packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { type RandomKey, STREAM } from "../../src/engine/gpu/random.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { LanguageConfig } from "../../src/engine/model/language/config-language.ts";
import { languageFamily, languageLinears } from "../../src/engine/model/language/language-families.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { decodeOnHost } from "../../src/engine/policy/decode/decode-host.ts";
import { disposePrefilled, type PromptBatch, prefill } from "../../src/engine/policy/decode/prefill.ts";
import { FULL_SAMPLING, type GenerateOptions, type RowResult } from "../../src/engine/policy/decode/sampler.ts";
import { randomTensor } from "./kernels.ts";
import { type TinyLanguage, tinyLanguage } from "./tiny-language.ts";

/** A group by the length of its prefix and of each row's tail. */
export interface GroupShape {
  readonly prefix: number;
  readonly tails: readonly number[];
}

export function promptsOf(width: number, shapes: readonly GroupShape[]): PromptBatch[] {
  return shapes.map(({ prefix, tails }, group) => ({
    prefix: randomTensor([1, prefix, width], 100 + group),
    tails: randomTensor([tails.length, Math.max(...tails), width], 200 + group),
    tailLengths: tails,
    promptIds: [1, 2, 3, 40 + group],
  }));
}

export const keyOf = (group: number, rollout: number, seed = 7): RandomKey => ({
  seed,
  step: 3,
  loop: 1,
  row: group,
  rollout,
  position: 0,
  stream: STREAM.token,
});

export const SAMPLED: GenerateOptions = {
  maxCompletionLength: 7,
  sampler: FULL_SAMPLING,
  greedy: false,
  key: keyOf,
  stop: () => false,
};

/** Prompts of that many groups of that shape, filled in once, and a function that decodes them any number of times. */
function prefilled(model: TinyLanguage, shapes: readonly GroupShape[], changes: Partial<GenerateOptions>) {
  const options = { ...SAMPLED, ...changes };
  const groups = promptsOf(model.config.hiddenSize, shapes);
  const address = groups.flatMap(({ tailLengths, promptIds }, group) =>
    tailLengths.map((_, rollout) => ({ key: options.key(group, rollout), promptIds: promptIds ?? [] })),
  );
  const longest = Math.max(...shapes.map(({ prefix, tails }) => prefix + Math.max(...tails)));
  const ropeLength = options.oneLength === true ? longest + options.maxCompletionLength : undefined;
  const prompts = atOnce(
    prefill(model.weights, model.config, groups, { ropeLength, groupsAtOnce: options.groupsAtOnce }),
  );
  return {
    rows: (where: typeof decodeOnGpu) => where(model.config, model.weights, prompts, address, options, ropeLength),
    dispose() {
      disposePrefilled(prompts);
      tf.dispose(groups.flatMap(({ prefix, tails }) => [prefix, tails]));
    },
  };
}

export async function decode(
  model: TinyLanguage,
  shapes: readonly GroupShape[],
  changes: Partial<GenerateOptions>,
  where: typeof decodeOnGpu,
): Promise<RowResult[]> {
  const prompts = prefilled(model, shapes, changes);
  try {
    return await prompts.rows(where);
  } finally {
    prompts.dispose();
  }
}

/** A tiny model whose matrices are packed, in blocks of that many elements: by default about a dozen rows. */
export async function packedLanguage(
  storage: WeightStorage,
  config: LanguageConfig,
  rank: number,
  seed = 1,
  blockElements = 12 * 64,
): Promise<TinyLanguage> {
  const model = tinyLanguage(config, rank, seed);
  const { embedding, head } = languageFamily(config);
  const names = [embedding, ...(config.tiedHead ? [] : [head])].concat(
    languageLinears(config).map(({ path }) => `${path}.weight`),
  );
  const packed = new Map<string, PackedMatrix>();
  for (const name of names) {
    const tensor = model.weights.get(name);
    const values = new Float32Array((await tensor.data()) as Float32Array);
    packed.set(name, packMatrix(values, tensor.shape as [number, number], storage, blockElements));
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

function expectClose(found: readonly number[], expected: readonly number[] = []): void {
  expect(found).toHaveLength(expected.length);
  for (const [at, value] of found.entries()) expect(Math.abs(value - (expected[at] as number))).toBeLessThan(1e-4);
}

/**
 * A software adapter takes a tenth of a second per token in the form for GPUs; the third token reads what two have
 * written.
 */
const CARD_TOKENS = 3;

/** The programs for software adapters (true) or for NVIDIA's cards (false), or a function that chooses others. */
export type DecodeForm = boolean | (() => void);

/** The programs for AMD's cards, in which every tile loads its own inputs. */
export const LOADED: DecodeForm = () => setAdapterClass("amd");
/** Those for NVIDIA's cards and wide products, whatever their width. */
export const WIDE: DecodeForm = () => setAdapterClass("nvidia", undefined, { decodeTiles: () => 8 });

/**
 * Same ids, and log-probabilities and entropies within 1e-4, twice the same, leaving no tensor behind. Disposes of the model.
 * The prompts are filled in once, in the form for software adapters: only decoding is compared.
 * @param forms of the programs; with few tokens by default if one is for GPUs
 */
export async function expectLikeHost(
  model: TinyLanguage,
  shapes: readonly GroupShape[],
  changes: Partial<GenerateOptions> = {},
  forms: readonly DecodeForm[] = [true],
  where: typeof decodeOnGpu = decodeOnGpu,
): Promise<readonly RowResult[]> {
  const before = memorySnapshot().tensors;
  try {
    const few = forms.some((form) => form !== true) ? { maxCompletionLength: CARD_TOKENS } : {};
    const prompts = prefilled(model, shapes, { ...few, ...changes });
    const expected = await prompts.rows(decodeOnHost);
    for (const form of forms) {
      if (typeof form === "boolean") setAdapterKind(form);
      else form();
      const tensors = memorySnapshot().tensors;
      const found = await prompts.rows(where);
      expect(memorySnapshot().tensors).toBe(tensors);
      expect(found.map(({ ids, clips }) => [ids, clips])).toEqual(expected.map(({ ids, clips }) => [ids, clips]));
      found.forEach((row, at) => {
        expectClose(row.logps, expected[at]?.logps);
        expectClose(row.entropies, expected[at]?.entropies);
      });
      expect(await prompts.rows(where)).toEqual(found);
    }
    prompts.dispose();
    expect(memorySnapshot().tensors).toBe(before);
    return expected;
  } finally {
    setAdapterKind(true);
    model.dispose();
  }
}
