/**
 * `llm_config`: sizes and family of the language model (docs/spec/sa2va.md#2-model-family,
 * docs/spec/sa2va.md#11-language-models).
 */
import { LabError, shortened } from "../../errors.ts";
import type { Place } from "../../gpu/kernels/rope.ts";
import type { Prompt } from "../../text/prompt.ts";
import type { Fields } from "../config-fields.ts";
import { MOST_POSITIONS, parseRope, type RopeConfig } from "./rope-scaling.ts";

/** Supported families, by tensor names and forward pass. */
export type LanguageFamily = "qwen2" | "qwen3" | "llama" | "internlm2" | "phi3" | "qwen2_5_vl_text" | "qwen3_vl_text";

const ARCHITECTURES: Readonly<Record<string, LanguageFamily>> = {
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
  LlamaForCausalLM: "llama",
  InternLM2ForCausalLM: "internlm2",
  Phi3ForCausalLM: "phi3",
  Qwen2_5_VLTextModel: "qwen2_5_vl_text",
  Qwen3VLTextModel: "qwen3_vl_text",
};

/** Default values of a family's published configuration class. A size without a default must be in the file. */
interface Defaults
  extends Partial<
    Pick<LanguageConfig, "vocabSize" | "hiddenSize" | "layers" | "heads" | "mlpSize" | "maxPositions" | "rmsNormEps">
  > {
  /** Undefined: equal to the number of query heads. */
  readonly kvHeads: number | undefined;
  /** Undefined: the hidden size divided by the number of heads. */
  readonly headSize: number | undefined;
  /** `original_max_position_embeddings`. */
  readonly trainedPositions?: number;
  /** Whether tokens have a place of three coordinates, so that the rotation must say which pairs turn by which. */
  readonly places?: true;
}

/** All families of InternVL have 32 layers of 32 heads by default. */
const SIZES = { layers: 32, heads: 32 };
const QWEN: Defaults = {
  ...SIZES,
  vocabSize: 151_936,
  hiddenSize: 4096,
  mlpSize: 22_016,
  kvHeads: 32,
  headSize: undefined,
  maxPositions: 32_768,
  rmsNormEps: 1e-6,
};
const LLAMA: Defaults = {
  ...SIZES,
  vocabSize: 32_000,
  hiddenSize: 4096,
  mlpSize: 11_008,
  kvHeads: undefined,
  headSize: undefined,
  maxPositions: 2048,
  rmsNormEps: 1e-6,
};
/** From transformers 4.49 and 5.23; InternLM2's class comes with the checkpoint. */
const DEFAULTS: Readonly<Record<LanguageFamily, Defaults>> = {
  qwen2: QWEN,
  qwen3: { ...QWEN, headSize: 128 },
  llama: LLAMA,
  internlm2: { ...LLAMA, vocabSize: 103_168 },
  phi3: {
    ...LLAMA,
    vocabSize: 32_064,
    hiddenSize: 3072,
    mlpSize: 8192,
    maxPositions: 4096,
    trainedPositions: 4096,
    rmsNormEps: 1e-5,
  },
  // Their class defaults belong to other sizes than the published ones.
  qwen2_5_vl_text: { kvHeads: undefined, headSize: undefined, places: true },
  qwen3_vl_text: { kvHeads: undefined, headSize: undefined, places: true },
};

/** Qwen's defaults: keys per window, and the first layer with one. */
const QWEN_WINDOW = { size: 4096, firstLayer: 28 };

/** Larger than any published model. */
const MOST_LAYERS = 512;
const MOST_HEADS = 1024;
const MOST_ROWS = 2 ** 22;

/** A limit on how far attention looks back. */
interface SlidingWindow {
  /** Number of keys that a query sees, its own included. */
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
  /** Whether the projections to queries, keys and values have a bias. */
  readonly attentionBias: boolean;
  /** Whether the output projection of the attention has a bias. */
  readonly outputBias: boolean;
  /** Whether the feed-forward layers have a bias. */
  readonly mlpBias: boolean;
  readonly rmsNormEps: number;
  readonly rope: RopeConfig;
  /** Undefined if every query sees all previous keys. */
  readonly window: SlidingWindow | undefined;
  /** Longest sequence the position embedding was trained for. */
  readonly maxPositions: number;
  /** Whether the head shares the embedding and is not stored. */
  readonly tiedHead: boolean;
}

/**
 * Reads `llm_config`. Fields equal to the family's defaults may be absent, as in newer files.
 * @throws LabError("unsupported") for another family or rotary scaling, LabError("bad-config") for a wrong field
 */
export function parseLanguageConfig(fields: Fields): LanguageConfig {
  const family = parseFamily(fields);
  const defaults = DEFAULTS[family];
  fields.oneOf("hidden_act", ["silu", "swish"], "silu");
  const hiddenSize = fields.whole("hidden_size", defaults.hiddenSize);
  const heads = fields.whole("num_attention_heads", defaults.heads, MOST_HEADS);
  const kvHeads = fields.whole("num_key_value_heads", defaults.kvHeads ?? heads, MOST_HEADS);
  const headSize = parseHeadSize(fields, defaults, hiddenSize, heads);
  if (!Number.isInteger(headSize) || headSize % 2 !== 0 || heads % kvHeads !== 0) {
    throw new LabError(
      "bad-config",
      `config.json: llm_config with hidden_size ${hiddenSize}, ${heads} heads and ${kvHeads} key/value heads does not divide evenly`,
      { subject: "llm_config.num_attention_heads" },
    );
  }
  const maxPositions = fields.whole("max_position_embeddings", defaults.maxPositions, MOST_POSITIONS);
  const layers = fields.whole("num_hidden_layers", defaults.layers, MOST_LAYERS);
  const rope = parseRope(fields, headSize, maxPositions, defaults.trainedPositions);
  const theta = fields.raw("rope_theta") ?? fields.raw("rope_parameters");
  if (defaults.places === true && (rope.axes === undefined || theta === undefined)) {
    throw new LabError("bad-config", `config.json: the rotation of ${family} needs rope_theta and mrope_section`, {
      subject: "rope_scaling",
    });
  }
  return {
    family,
    vocabSize: fields.whole("vocab_size", defaults.vocabSize, MOST_ROWS),
    hiddenSize,
    layers,
    heads,
    kvHeads,
    headSize,
    mlpSize: fields.whole("intermediate_size", defaults.mlpSize),
    ...parseBiases(fields, family),
    rmsNormEps: fields.number("rms_norm_eps", defaults.rmsNormEps),
    rope,
    window: parseWindow(fields, family, layers),
    maxPositions,
    tiedHead: fields.flag("tie_word_embeddings", false),
  };
}

/** InternLM2 has no setting for the head width. */
function parseHeadSize(fields: Fields, defaults: Defaults, hiddenSize: number, heads: number): number {
  if (fields.raw("head_dim") !== undefined) return fields.whole("head_dim");
  return defaults.headSize ?? hiddenSize / heads;
}

/** Qwen2 and Phi-3 have no such field; InternLM2's defaults to true. */
function parseBiases(
  fields: Fields,
  family: LanguageFamily,
): Pick<LanguageConfig, "attentionBias" | "outputBias" | "mlpBias"> {
  switch (family) {
    case "qwen2":
    case "qwen2_5_vl_text":
      return { attentionBias: true, outputBias: false, mlpBias: false };
    case "phi3":
      return { attentionBias: false, outputBias: false, mlpBias: false };
    case "internlm2": {
      const bias = fields.flag("bias", true);
      return { attentionBias: bias, outputBias: bias, mlpBias: false };
    }
    case "qwen3":
    case "qwen3_vl_text":
    case "llama": {
      const bias = fields.flag("attention_bias", false);
      const mlpBias = family === "llama" && fields.flag("mlp_bias", false);
      return { attentionBias: bias, outputBias: bias, mlpBias };
    }
  }
}

/** The first class in `architectures`, else `model_type`, which is the name of the family. */
function parseFamily(fields: Fields): LanguageFamily {
  const architectures = fields.raw("architectures");
  const named: unknown = Array.isArray(architectures) ? architectures[0] : undefined;
  const type = fields.raw("model_type");
  const family =
    named === undefined
      ? Object.values(ARCHITECTURES).find((one) => one === type)
      : typeof named === "string" && Object.hasOwn(ARCHITECTURES, named)
        ? ARCHITECTURES[named]
        : undefined;
  if (family !== undefined) return family;
  const found = named ?? type;
  const known = Object.keys(ARCHITECTURES).join(", ");
  throw new LabError(
    "unsupported",
    `config.json: the language model is ${typeof found === "string" ? shortened(found, 100) : "no architecture"}; this lab runs ${known}`,
    {
      subject: "llm_config.architectures",
    },
  );
}

/** Qwen has a switch and either a list of layers or the first layer; Phi-3 limits every layer if the size is given. */
function parseWindow(fields: Fields, family: LanguageFamily, layers: number): SlidingWindow | undefined {
  if (family === "internlm2" || family === "llama") return undefined;
  if (family === "phi3") {
    if (fields.raw("sliding_window") === undefined) return undefined;
    return { size: fields.whole("sliding_window", undefined, MOST_POSITIONS), firstLayer: 0 };
  }
  if (!fields.flag("use_sliding_window", false)) return undefined;
  const size = fields.whole("sliding_window", QWEN_WINDOW.size, MOST_POSITIONS);
  const firstLayer = listedWindow(fields, layers) ?? fields.integer("max_window_layers", QWEN_WINDOW.firstLayer);
  return firstLayer >= layers ? undefined : { size, firstLayer: Math.max(0, firstLayer) };
}

/**
 * First layer with a window according to `layer_types` of newer files; windows are supported only in the last layers.
 */
function listedWindow(fields: Fields, layers: number): number | undefined {
  const list = fields.raw("layer_types");
  if (!Array.isArray(list)) return undefined;
  const found = list.indexOf("sliding_attention");
  const first = found < 0 ? layers : found;
  const suffix = list.length === layers && list.every((type, at) => (type === "sliding_attention") === at >= first);
  if (suffix) return first;
  throw new LabError("unsupported", "config.json: llm_config.layer_types mixes layers in a way that is not supported", {
    subject: "llm_config.layer_types",
  });
}

// Places of tokens for the rotation. In text they are consecutive numbers; a language model whose rotation has rows and
// columns gives each visual token those of its cell (docs/spec/qwen-vl.md#6-language-model).

/** The first position beyond a place in every coordinate. */
export const nextTo = (place: Place): number => 1 + (typeof place === "number" ? place : Math.max(...place));

/** `count` positions from `from` on. */
export const inOrder = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

/**
 * Places of the first `length` tokens of a prompt and what follows it. Copied tokens of regions count as text.
 * @returns undefined where places are the tokens' indices
 */
export function promptPlaces(
  { rope }: Pick<LanguageConfig, "rope">,
  { imageSpan, frameSpans = [imageSpan], grid }: Pick<Prompt, "imageSpan" | "frameSpans" | "grid">,
  length: number,
): Place[] | undefined {
  if (rope.axes === undefined || grid === undefined) return undefined;
  const places: Place[] = [];
  let next = 0;
  const writeText = (upTo: number): void => {
    while (places.length < Math.min(upTo, length)) places.push(next++);
  };
  for (const { start, end } of frameSpans) {
    writeText(start);
    for (let at = start; at < Math.min(end, length); at++) {
      const [row, col] = [Math.floor((at - start) / grid.cols), (at - start) % grid.cols];
      places.push([next, next + row, next + col]);
    }
    next += Math.max(grid.rows, grid.cols);
  }
  writeText(length);
  return places;
}
