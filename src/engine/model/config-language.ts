/** `llm_config`: sizes of the language model and which family its tensors follow (reference: sa2va.md §2, §11). */
import { LabError } from "../errors.ts";
import type { Fields } from "./config-fields.ts";
import { parseRope, type RopeConfig } from "./rope-scaling.ts";

/** Families whose tensor names and forward pass exist here. */
export type LanguageFamily = "qwen2" | "internlm2" | "phi3";

const ARCHITECTURES: Readonly<Record<string, LanguageFamily>> = {
  Qwen2ForCausalLM: "qwen2",
  InternLM2ForCausalLM: "internlm2",
  Phi3ForCausalLM: "phi3",
};
/** What Hugging Face's configuration of a family takes for an absent `rms_norm_eps`. */
const NORM_EPS: Readonly<Record<LanguageFamily, number>> = { qwen2: 1e-6, internlm2: 1e-6, phi3: 1e-5 };

/** A limit on how far attention looks back. */
export interface SlidingWindow {
  /** Keys a query sees, itself included. */
  readonly size: number;
  /** The first layer it applies to. */
  readonly firstLayer: number;
}

export interface LanguageConfig {
  readonly family: LanguageFamily;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Channels of one head. */
  readonly headSize: number;
  readonly mlpSize: number;
  /** Whether the projections to queries, keys and values have a bias (InternLM2: the output projection too). */
  readonly attentionBias: boolean;
  readonly rmsNormEps: number;
  readonly rope: RopeConfig;
  /** Undefined when every query sees all that came before. */
  readonly window: SlidingWindow | undefined;
  /** Longest sequence the position embedding was trained for. */
  readonly maxPositions: number;
  /** The head is the embedding and is not stored. */
  readonly tiedHead: boolean;
}

/** @throws LabError("unsupported") for another family or rotary scaling, LabError("bad-config") for a wrong field */
export function parseLanguageConfig(fields: Fields): LanguageConfig {
  const family = parseFamily(fields);
  fields.oneOf("hidden_act", ["silu", "swish"], "silu");
  const hiddenSize = fields.whole("hidden_size");
  const heads = fields.whole("num_attention_heads");
  const kvHeads = fields.whole("num_key_value_heads", heads);
  const headSize = fields.raw("head_dim") === undefined ? hiddenSize / heads : fields.whole("head_dim");
  if (!Number.isInteger(headSize) || headSize % 2 !== 0 || heads % kvHeads !== 0) {
    throw new LabError(
      "bad-config",
      `config.json: llm_config with hidden_size ${hiddenSize}, ${heads} heads and ${kvHeads} key/value heads does not divide evenly`,
      { subject: "llm_config.num_attention_heads" },
    );
  }
  if (fields.number("partial_rotary_factor", 1) !== 1) {
    throw new LabError("unsupported", "config.json: llm_config.partial_rotary_factor other than 1 is not handled", {
      subject: "llm_config.partial_rotary_factor",
    });
  }
  const maxPositions = fields.whole("max_position_embeddings", 32768);
  const layers = fields.whole("num_hidden_layers");
  return {
    family,
    vocabSize: fields.whole("vocab_size"),
    hiddenSize,
    layers,
    heads,
    kvHeads,
    headSize,
    mlpSize: fields.whole("intermediate_size"),
    attentionBias: family === "internlm2" ? fields.flag("bias", false) : family === "qwen2",
    rmsNormEps: fields.number("rms_norm_eps", NORM_EPS[family]),
    rope: parseRope(fields, headSize, maxPositions),
    window: parseWindow(fields, family, layers),
    maxPositions,
    tiedHead: fields.flag("tie_word_embeddings", false),
  };
}

/** The class named first in `architectures`, or else `model_type`, which is the family's own name. */
function parseFamily(fields: Fields): LanguageFamily {
  const architectures = fields.raw("architectures");
  const named = Array.isArray(architectures) && architectures.length > 0 ? String(architectures[0]) : undefined;
  const type = fields.raw("model_type");
  const family =
    named === undefined
      ? Object.values(ARCHITECTURES).find((one) => one === type)
      : Object.hasOwn(ARCHITECTURES, named)
        ? ARCHITECTURES[named]
        : undefined;
  if (family !== undefined) return family;
  const found = named ?? (typeof type === "string" ? type : "no architecture");
  const known = Object.keys(ARCHITECTURES).join(", ");
  throw new LabError("unsupported", `config.json: the language model is ${found}; this lab runs ${known}`, {
    subject: "llm_config.architectures",
  });
}

/** Qwen2 has a switch of its own and leaves the first layers alone; Phi-3 limits every layer when the size is given. */
function parseWindow(fields: Fields, family: LanguageFamily, layers: number): SlidingWindow | undefined {
  if (family === "internlm2" || fields.raw("sliding_window") === undefined) return undefined;
  if (family === "phi3") return { size: fields.whole("sliding_window"), firstLayer: 0 };
  if (!fields.flag("use_sliding_window", false)) return undefined;
  const firstLayer = fields.integer("max_window_layers", layers);
  return { size: fields.whole("sliding_window"), firstLayer };
}
