/** `llm_config`: sizes of the language model and which family its tensors follow (reference: sa2va.md §2, §11). */
import { isRecord } from "../bytes/json.ts";
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
  /** The head is the embedding and is not stored. */
  readonly tiedHead: boolean;
  /** Dynamic scaling would change the rotary base from this position on; undefined when nothing does. */
  readonly ropeLimit: number | undefined;
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
  const maxPositions = fields.whole("max_position_embeddings", 32768);
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
    maxPositions,
    tiedHead: fields.flag("tie_word_embeddings", false),
    ropeLimit: parseRopeScaling(fields.raw("rope_scaling")) === "dynamic" ? maxPositions : undefined,
  };
}

/** Dynamic scaling leaves sequences alone that fit the trained length; any other kind changes every angle. */
function parseRopeScaling(value: unknown): "none" | "dynamic" {
  if (value === undefined) return "none";
  const type = isRecord(value) ? (value.rope_type ?? value.type) : value;
  if (type === "default") return "none";
  if (type === "dynamic") return "dynamic";
  throw new LabError(
    "unsupported",
    `config.json: llm_config.rope_scaling of type ${JSON.stringify(type)} is not handled`,
    {
      subject: "llm_config.rope_scaling",
    },
  );
}
