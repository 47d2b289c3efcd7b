/** Tensor names and shapes of the language model (docs/spec/sa2va.md#4-tensor-names-and-shapes). */
import type { LanguageConfig } from "./config-language.ts";
import { languageFamily } from "./language-families.ts";
import type { LinearShape } from "./language-family.ts";

export type { LinearShape } from "./language-family.ts";

/** Every linear layer except the head, in the order of the forward pass: the targets of LoRA. */
export function languageLinears(config: LanguageConfig): LinearShape[] {
  const family = languageFamily(config);
  return Array.from({ length: config.layers }, (_, layer) => family.linears(config, family.block(layer))).flat();
}

export function languageShapes(config: LanguageConfig): [name: string, shape: number[]][] {
  const { hiddenSize, vocabSize } = config;
  const family = languageFamily(config);
  const shapes: [string, number[]][] = [
    [family.embedding, [vocabSize, hiddenSize]],
    [family.finalNorm, [hiddenSize]],
  ];
  if (!config.tiedHead) shapes.push([family.head, [vocabSize, hiddenSize]]);
  for (const { path, inSize, outSize, bias } of languageLinears(config)) {
    shapes.push([`${path}.weight`, [outSize, inSize]]);
    if (bias) shapes.push([`${path}.bias`, [outSize]]);
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const path = family.block(layer);
    for (const norm of family.norms) shapes.push([`${path}.${norm}.weight`, [hiddenSize]]);
    for (const norm of family.headNorms ?? []) shapes.push([`${path}.${norm}.weight`, [config.headSize]]);
  }
  return shapes;
}
