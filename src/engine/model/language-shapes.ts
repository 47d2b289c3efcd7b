/** Tensor names and shapes of the language model (reference: sa2va.md §4). */
import type { LanguageConfig } from "./config.ts";

/** A linear layer of a transformer block, by its path below `language_model.`. */
export interface LinearShape {
  /** Without ".weight". */
  readonly path: string;
  readonly inSize: number;
  readonly outSize: number;
  readonly bias: boolean;
}

/** Every linear layer but the head: the targets of LoRA, in the order of the forward pass. */
export function languageLinears(config: LanguageConfig): LinearShape[] {
  const { hiddenSize, mlpSize, heads, kvHeads, headSize } = config;
  return Array.from({ length: config.layers }, (_, layer) => {
    const path = `language_model.model.layers.${layer}`;
    return [
      { path: `${path}.self_attn.q_proj`, inSize: hiddenSize, outSize: heads * headSize, bias: true },
      { path: `${path}.self_attn.k_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias: true },
      { path: `${path}.self_attn.v_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias: true },
      { path: `${path}.self_attn.o_proj`, inSize: heads * headSize, outSize: hiddenSize, bias: false },
      { path: `${path}.mlp.gate_proj`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.mlp.up_proj`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.mlp.down_proj`, inSize: mlpSize, outSize: hiddenSize, bias: false },
    ];
  }).flat();
}

export function languageShapes(config: LanguageConfig): [name: string, shape: number[]][] {
  const { hiddenSize, vocabSize } = config;
  const shapes: [string, number[]][] = [
    ["language_model.model.embed_tokens.weight", [vocabSize, hiddenSize]],
    ["language_model.model.norm.weight", [hiddenSize]],
  ];
  if (!config.tiedHead) shapes.push(["language_model.lm_head.weight", [vocabSize, hiddenSize]]);
  for (const { path, inSize, outSize, bias } of languageLinears(config)) {
    shapes.push([`${path}.weight`, [outSize, inSize]]);
    if (bias) shapes.push([`${path}.bias`, [outSize]]);
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const path = `language_model.model.layers.${layer}`;
    shapes.push(
      [`${path}.input_layernorm.weight`, [hiddenSize]],
      [`${path}.post_attention_layernorm.weight`, [hiddenSize]],
    );
  }
  return shapes;
}
