/**
 * The differences between the language families: tensor names, fused projections and the layout of their rows
 * (docs/spec/sa2va.md#4-tensor-names-and-shapes, docs/spec/sa2va.md#11-language-models).
 */
import type { LanguageConfig, LanguageFamily } from "./config-language.ts";

/** Names of the parts of a transformer block; layers without ".weight". */
interface BlockParts {
  readonly norms: readonly [attention: string, mlp: string];
  /** Norms over the channels of each head of queries and keys before rotation. */
  readonly headNorms?: readonly [query: string, key: string];
  /** Layers for queries, keys and values, or one whose rows hold all of them. */
  readonly projections: readonly string[];
  /** Output projection of the attention. */
  readonly output: string;
  /** Layers for gate and up, or one whose rows hold both, the gate first. */
  readonly gated: readonly string[];
  readonly down: string;
}

/** Names below the block's path. */
interface BlockFamily extends BlockParts {
  /** Path of the blocks and the final norm. */
  readonly root: string;
  /** Token embedding [V, D]. */
  readonly embedding: string;
  /** Output head [V, D]; a model with a tied head does not store it. */
  readonly head: string;
  /**
   * Whether the rows of the one projection are grouped by key/value head, each group being its query heads, its key and
   * its value; otherwise all queries come first, then all keys, then all values.
   */
  readonly grouped?: boolean;
}

/** Llama and its successors. Qwen2 has biases on q, k, v; Llama and Qwen3 have them if configured. */
const LLAMA: BlockFamily = {
  root: "language_model.model",
  embedding: "language_model.model.embed_tokens.weight",
  head: "language_model.lm_head.weight",
  norms: ["input_layernorm", "post_attention_layernorm"],
  projections: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
  output: "self_attn.o_proj",
  gated: ["mlp.gate_proj", "mlp.up_proj"],
  down: "mlp.down_proj",
};

/** Sa2VA wraps the whole of Qwen-VL as `model`, whose own parts are `model` and `lm_head`. */
const IN_QWEN_VL = {
  root: "model.model.language_model",
  embedding: "model.model.language_model.embed_tokens.weight",
  head: "model.lm_head.weight",
};

const FAMILIES: Readonly<Record<LanguageFamily, BlockFamily>> = {
  qwen2: LLAMA,
  qwen3: { ...LLAMA, headNorms: ["self_attn.q_norm", "self_attn.k_norm"] },
  llama: LLAMA,
  internlm2: {
    root: LLAMA.root,
    embedding: "language_model.model.tok_embeddings.weight",
    head: "language_model.output.weight",
    norms: ["attention_norm", "ffn_norm"],
    projections: ["attention.wqkv"],
    grouped: true,
    output: "attention.wo",
    gated: ["feed_forward.w1", "feed_forward.w3"],
    down: "feed_forward.w2",
  },
  phi3: { ...LLAMA, projections: ["self_attn.qkv_proj"], gated: ["mlp.gate_up_proj"] },
  qwen2_5_vl_text: { ...LLAMA, ...IN_QWEN_VL },
  qwen3_vl_text: { ...LLAMA, ...IN_QWEN_VL, headNorms: ["self_attn.q_norm", "self_attn.k_norm"] },
};

export function languageFamily(config: Pick<LanguageConfig, "family">): BlockFamily {
  return FAMILIES[config.family];
}

/** Name of the norm after the last block. */
export function finalNorm(config: Pick<LanguageConfig, "family">): string {
  return `${languageFamily(config).root}.norm.weight`;
}

/** Whether a tensor belongs to the language model, embedding and head included. */
export function isLanguageTensor(name: string): boolean {
  return Object.values(FAMILIES).some(
    ({ root, embedding, head }) => name.startsWith(`${root}.`) || name === embedding || name === head,
  );
}

/** Names that the head or the embedding can have in any family. */
export const HEAD_NAMES: readonly string[] = [...new Set(Object.values(FAMILIES).map(({ head }) => head))];
export const EMBEDDING_NAMES: readonly string[] = [...new Set(Object.values(FAMILIES).map((one) => one.embedding))];

/** Path of a block, e.g. "language_model.model.layers.0". */
export function blockPath(config: Pick<LanguageConfig, "family">, layer: number): string {
  return `${languageFamily(config).root}.layers.${layer}`;
}

/** Full paths of the parts of a block; norms with ".weight". */
export function blockParts(config: Pick<LanguageConfig, "family">, layer: number): BlockParts {
  const { norms, headNorms, projections, output, gated, down } = languageFamily(config);
  const under = (name: string): string => `${blockPath(config, layer)}.${name}`;
  const weights = ([first, second]: readonly [string, string]): readonly [string, string] => [
    `${under(first)}.weight`,
    `${under(second)}.weight`,
  ];
  return {
    norms: weights(norms),
    ...(headNorms === undefined ? {} : { headNorms: weights(headNorms) }),
    projections: projections.map(under),
    output: under(output),
    gated: gated.map(under),
    down: under(down),
  };
}

/**
 * Outputs of the heads among those of the projections, placed side by side: head h starts at
 * first + floor(h / perGroup) · groupStride + (h mod perGroup) · headSize.
 */
interface HeadRows {
  readonly first: number;
  readonly perGroup: number;
  readonly groupStride: number;
}

/** Rows of queries, keys and values. */
export function headRows(config: LanguageConfig): readonly [query: HeadRows, key: HeadRows, value: HeadRows] {
  const { heads, kvHeads, headSize } = config;
  if (languageFamily(config).grouped === true) {
    const perGroup = heads / kvHeads;
    const groupStride = (perGroup + 2) * headSize;
    return [
      { first: 0, perGroup, groupStride },
      { first: perGroup * headSize, perGroup: 1, groupStride },
      { first: (perGroup + 1) * headSize, perGroup: 1, groupStride },
    ];
  }
  return [
    { first: 0, perGroup: heads, groupStride: 0 },
    { first: heads * headSize, perGroup: kvHeads, groupStride: 0 },
    { first: (heads + kvHeads) * headSize, perGroup: kvHeads, groupStride: 0 },
  ];
}

// Tensor names and shapes of the language model (docs/spec/sa2va.md#4-tensor-names-and-shapes).

/** A linear layer of a transformer block. */
interface LinearShape {
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
