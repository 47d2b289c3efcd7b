/** `llm_config`: sizes of the language model and which family its tensors follow (reference: sa2va.md §2, §11). */
import { LabError } from "../errors.ts";
import type { Fields } from "./config-fields.ts";

/** Families whose tensor names and forward pass exist here. */
export type LanguageFamily = "qwen2";

const FAMILIES: Readonly<Record<string, LanguageFamily>> = { Qwen2ForCausalLM: "qwen2" };

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
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  /** Longest sequence the position embedding was trained for. */
  readonly maxPositions: number;
  readonly eosTokenId: number | undefined;
}

/** @throws LabError("unsupported") for another family or rotary scaling, LabError("bad-config") for a wrong field */
export function parseLanguageConfig(fields: Fields): LanguageConfig {
  const architectures = fields.raw("architectures");
  const named = Array.isArray(architectures) ? String(architectures[0]) : "no architecture";
  const family = FAMILIES[named];
  if (family === undefined) {
    const known = Object.keys(FAMILIES).join(", ");
    throw new LabError("unsupported", `config.json: the language model is ${named}; this lab runs ${known}`, {
      subject: "llm_config.architectures",
    });
  }
  if (fields.raw("rope_scaling") !== undefined) {
    throw new LabError(
      "unsupported",
      "config.json: llm_config.rope_scaling is set; only unscaled rotary positions are handled",
      {
        subject: "llm_config.rope_scaling",
      },
    );
  }
  if (fields.flag("use_sliding_window", false)) {
    throw new LabError(
      "unsupported",
      "config.json: llm_config.use_sliding_window is on; only full attention is handled",
      {
        subject: "llm_config.use_sliding_window",
      },
    );
  }
  fields.oneOf("hidden_act", ["silu"], "silu");
  const hiddenSize = fields.whole("hidden_size");
  const heads = fields.whole("num_attention_heads");
  const kvHeads = fields.whole("num_key_value_heads", heads);
  const headSize = hiddenSize / heads;
  if (!Number.isInteger(headSize) || headSize % 2 !== 0 || heads % kvHeads !== 0) {
    throw new LabError(
      "bad-config",
      `config.json: llm_config with hidden_size ${hiddenSize}, ${heads} heads and ${kvHeads} key/value heads does not divide evenly`,
      { subject: "llm_config.num_attention_heads" },
    );
  }
  return {
    family,
    vocabSize: fields.whole("vocab_size"),
    hiddenSize,
    layers: fields.whole("num_hidden_layers"),
    heads,
    kvHeads,
    headSize,
    mlpSize: fields.whole("intermediate_size"),
    rmsNormEps: fields.number("rms_norm_eps", 1e-6),
    ropeTheta: fields.number("rope_theta", 1e6),
    maxPositions: fields.whole("max_position_embeddings", 32768),
    eosTokenId: fields.raw("eos_token_id") === undefined ? undefined : fields.integer("eos_token_id"),
  };
}
