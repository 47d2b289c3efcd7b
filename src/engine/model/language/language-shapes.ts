/** Tensor names and shapes of the language model (docs/spec/sa2va.md#4-tensor-names-and-shapes). */
import type { LanguageConfig } from "./config-language.ts";
import { blockParts, finalNorm, languageFamily } from "./language-families.ts";

/** A linear layer of a transformer block. */
export interface LinearShape {
  /** Without ".weight". */
  readonly path: string;
  readonly inSize: number;
  readonly outSize: number;
  readonly bias: boolean;
}

/** Every linear layer except the head, in the order of the forward pass: the targets of LoRA. */
export function languageLinears(config: LanguageConfig): LinearShape[] {
  const { hiddenSize, mlpSize, heads, kvHeads, headSize, attentionBias, outputBias, mlpBias } = config;
  const widths = [heads * headSize, kvHeads * headSize, kvHeads * headSize];
  return Array.from({ length: config.layers }, (_, layer): LinearShape[] => {
    const { projections, output, gated, down } = blockParts(config, layer);
    const whole = projections.length === 1 ? [(heads + 2 * kvHeads) * headSize] : widths;
    const gateSize = (2 / gated.length) * mlpSize;
    return [
      ...projections.map((path, at) => ({
        path,
        inSize: hiddenSize,
        outSize: whole[at] as number,
        bias: attentionBias,
      })),
      { path: output, inSize: heads * headSize, outSize: hiddenSize, bias: outputBias },
      ...gated.map((path) => ({ path, inSize: hiddenSize, outSize: gateSize, bias: mlpBias })),
      { path: down, inSize: mlpSize, outSize: hiddenSize, bias: mlpBias },
    ];
  }).flat();
}

export function languageShapes(config: LanguageConfig): [name: string, shape: number[]][] {
  const { hiddenSize, vocabSize } = config;
  const family = languageFamily(config);
  const shapes: [string, number[]][] = [
    [family.embedding, [vocabSize, hiddenSize]],
    [finalNorm(config), [hiddenSize]],
  ];
  if (!config.tiedHead) shapes.push([family.head, [vocabSize, hiddenSize]]);
  for (const { path, inSize, outSize, bias } of languageLinears(config)) {
    shapes.push([`${path}.weight`, [outSize, inSize]]);
    if (bias) shapes.push([`${path}.bias`, [outSize]]);
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const { norms, headNorms = [] } = blockParts(config, layer);
    for (const norm of norms) shapes.push([norm, [hiddenSize]]);
    for (const norm of headNorms) shapes.push([norm, [config.headSize]]);
  }
  return shapes;
}
