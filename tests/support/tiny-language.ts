/** Language models of a few thousand random weights, in every family, with adapters. */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { LanguageConfig, LanguageFamily } from "../../src/engine/model/language/config-language.ts";
import { languageLinears, languageShapes } from "../../src/engine/model/language/language-families.ts";
import { type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { TINY_DECODER } from "../../src/plugins/diagnostics/checks.ts";
import { randomTensor } from "./kernels.ts";

export interface TinyLanguage {
  readonly config: LanguageConfig;
  readonly weights: Weights;
  dispose(): void;
}

export function tinyConfig(family: LanguageFamily, changes: Partial<LanguageConfig> = {}): LanguageConfig {
  return {
    ...TINY_DECODER,
    family,
    attentionBias: family !== "phi3",
    outputBias: family !== "phi3" && family !== "qwen2",
    mlpBias: family === "llama",
    ...changes,
  };
}

/** @param rank of the adapter; 0 for none. Its second factors are not zero, as if it had been trained */
export function tinyLanguage(config: LanguageConfig, rank: number, seed = 1): TinyLanguage {
  let next = seed;
  const random = (shape: readonly number[], scale: number): Tensor => randomTensor(shape, next++, scale);
  const frozen = new Map<string, Tensor>();
  for (const [name, shape] of languageShapes(config)) {
    const norm = /norm[^.]*\.weight$/.test(name);
    const tensor = random(shape, norm ? 0.2 : 0.25);
    frozen.set(name, norm ? tf.tidy(() => tensor.add(1)) : tensor);
    if (norm) tensor.dispose();
  }
  const adapters: Record<string, Tensor> = {};
  for (const { path, inSize, outSize } of rank === 0 ? [] : languageLinears(config)) {
    adapters[`${path}.lora_A.weight`] = random([rank, inSize], 0.2);
    adapters[`${path}.lora_B.weight`] = random([outSize, rank], 0.2);
  }
  return {
    config,
    weights: weightsView(frozen, adapters, 1.5),
    dispose: () => tf.dispose([...frozen.values(), ...Object.values(adapters)]),
  };
}
