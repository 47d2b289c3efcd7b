/**
 * Where a decoding step finds a block's linear layers. Layers with the same input are combined and their outputs placed
 * side by side, in the order of their paths; the other fields locate the outputs
 * (docs/spec/sa2va.md#11-language-models).
 */
import type { LanguageConfig, LanguageFamily } from "./config-language.ts";
import { languageFamily } from "./language-families.ts";

/** Head h starts at output first + floor(h / perGroup) · groupStride + (h mod perGroup) · headSize. */
export interface HeadRows {
  readonly first: number;
  readonly perGroup: number;
  readonly groupStride: number;
}

export interface DecodeBlock {
  readonly norms: readonly [attention: string, mlp: string];
  /** Per-head norms of queries and keys. */
  readonly headNorms: readonly [query: string, key: string] | undefined;
  /** Linear layers for queries, keys and values, without ".weight". */
  readonly projections: readonly string[];
  readonly query: HeadRows;
  readonly key: HeadRows;
  readonly value: HeadRows;
  readonly output: string;
  /** Linear layers for gate and up. */
  readonly gated: readonly string[];
  /** First outputs of gate and up. */
  readonly gateFirst: number;
  readonly upFirst: number;
  readonly down: string;
}

type Part = Pick<DecodeBlock, "projections" | "query" | "key" | "value" | "output" | "gated" | "down">;

/** Queries, keys and values one after another. */
function inTurn({ heads, kvHeads, headSize }: LanguageConfig): Pick<DecodeBlock, "query" | "key" | "value"> {
  return {
    query: { first: 0, perGroup: heads, groupStride: 0 },
    key: { first: heads * headSize, perGroup: kvHeads, groupStride: 0 },
    value: { first: (heads + kvHeads) * headSize, perGroup: kvHeads, groupStride: 0 },
  };
}

/** One separate projection. */
const apart = (config: LanguageConfig, path: string): Part => ({
  ...inTurn(config),
  projections: ["q_proj", "k_proj", "v_proj"].map((name) => `${path}.self_attn.${name}`),
  output: `${path}.self_attn.o_proj`,
  gated: [`${path}.mlp.gate_proj`, `${path}.mlp.up_proj`],
  down: `${path}.mlp.down_proj`,
});

const PARTS: Readonly<Record<LanguageFamily, (config: LanguageConfig, path: string) => Part>> = {
  qwen2: apart,
  qwen3: apart,
  llama: apart,
  internlm2: ({ heads, kvHeads, headSize }, path) => {
    const perGroup = heads / kvHeads;
    const groupStride = (perGroup + 2) * headSize;
    return {
      projections: [`${path}.attention.wqkv`],
      query: { first: 0, perGroup, groupStride },
      key: { first: perGroup * headSize, perGroup: 1, groupStride },
      value: { first: (perGroup + 1) * headSize, perGroup: 1, groupStride },
      output: `${path}.attention.wo`,
      gated: [`${path}.feed_forward.w1`, `${path}.feed_forward.w3`],
      down: `${path}.feed_forward.w2`,
    };
  },
  phi3: (config, path) => ({
    ...inTurn(config),
    projections: [`${path}.self_attn.qkv_proj`],
    output: `${path}.self_attn.o_proj`,
    gated: [`${path}.mlp.gate_up_proj`],
    down: `${path}.mlp.down_proj`,
  }),
};

export function decodeBlock(config: LanguageConfig, layer: number): DecodeBlock {
  const family = languageFamily(config);
  const path = family.block(layer);
  const [attention, mlp] = family.norms;
  return {
    norms: [`${path}.${attention}.weight`, `${path}.${mlp}.weight`],
    headNorms:
      family.headNorms === undefined
        ? undefined
        : [`${path}.${family.headNorms[0]}.weight`, `${path}.${family.headNorms[1]}.weight`],
    gateFirst: 0,
    upFirst: config.mlpSize,
    ...PARTS[config.family](config, path),
  };
}
