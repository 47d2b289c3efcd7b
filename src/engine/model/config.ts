/** `config.json` of a checkpoint in the HuggingFace Sa2VA layout (docs/spec/sa2va.md#3-checkpoint-files). */
import { isRecord } from "../bytes/json.ts";
import { LabError, quote } from "../errors.ts";
import { TEMPLATES, type TemplateName } from "../text/template.ts";
import { type Fields, fieldsOf } from "./config-fields.ts";
import { type LanguageConfig, parseLanguageConfig } from "./language/config-language.ts";
import type { TilingConfig } from "./preprocess/tiling.ts";
import { parseSam2Config, type Sam2Config } from "./sam2/config.ts";

export type { TemplateName } from "../text/template.ts";
export type { LanguageConfig, LanguageFamily } from "./language/config-language.ts";

/** `max_dynamic_patch` of every published checkpoint; the published code uses it whatever config.json says. */
export const PUBLISHED_MAX_TILES = 12;

/** InternViT. */
export interface VisionConfig {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly mlpSize: number;
  /** Side in pixels of the square that the position embedding was trained for. */
  readonly imageSize: number;
  readonly patchSize: number;
  readonly qkvBias: boolean;
  /** RMSNorm over all heads together on queries and keys. */
  readonly qkNormalization: boolean;
  readonly normType: "layer_norm" | "rms_norm";
  readonly normEps: number;
  /**
   * Which hidden state the tower returns: -1 = output of the last block, -k = k-th from the end of [embeddings,
   * blocks…].
   */
  readonly selectLayer: number;
}

/** Larger than any published tower. */
const MOST_BLOCKS = 512;
const MOST_HEADS = 1024;
const MOST_PIXELS = 8192;
const MOST_TILES = 1024;

/** The sizes of published checkpoints, which do not state them. */
export const HIERA_L_DECODER: DecoderSizes = { mlp: 2048, iouHidden: 256, maskIn: 16 };

/** Sizes inside SAM2's decoder; they affect only the shapes of its tensors. */
export interface DecoderSizes {
  /** Hidden width of the transformer's feed-forward layers. */
  readonly mlp: number;
  /** Hidden width of the head that predicts IoU. */
  readonly iouHidden: number;
  /** Channels of a mask prompt before its last convolution. */
  readonly maskIn: number;
}

export interface Sa2vaConfig extends TilingConfig {
  readonly template: TemplateName;
  /** False: every picture is one tile. */
  readonly dynamicImageSize: boolean;
  readonly psVersion: "v1" | "v2";
  /** Visual tokens of one tile. */
  readonly tokensPerTile: number;
  /** Side of the visual-token grid of one tile; tokensPerTile is its square. */
  readonly tokenGridSide: number;
  readonly vision: VisionConfig;
  readonly language: LanguageConfig;
  readonly sam2: Sam2Config;
  readonly decoderSizes: DecoderSizes;
}

/**
 * Reads a parsed config.json. Absent fields take the defaults of the published configuration class. Tiling is the
 * exception: there the published code fixes the values of all published checkpoints.
 * @throws LabError("bad-config") naming the field that is missing or wrong; LabError("unsupported") for another model
 */
export function parseSa2vaConfig(json: unknown): Sa2vaConfig {
  if (!isRecord(json)) throw new LabError("bad-config", "config.json is not a JSON object", { subject: "config.json" });
  checkModelType(json);
  const fields = fieldsOf(json, "");
  const tileSize = fields.whole("force_image_size", 448, MOST_PIXELS);
  const vision = parseVisionConfig(fields);
  const downsampleRatio = fields.number("downsample_ratio", 0.5);
  const patches = tileSize / vision.patchSize;
  const tokenGridSide = Math.floor(patches * downsampleRatio);
  if (!Number.isInteger(patches) || downsampleRatio !== 0.5 || patches % 2 !== 0) {
    throw new LabError(
      "unsupported",
      `config.json: force_image_size ${tileSize} with patches of ${vision.patchSize} and downsample_ratio ` +
        `${downsampleRatio} gives no grid of 2 x 2 patch groups`,
      { subject: "force_image_size" },
    );
  }
  const dynamicImageSize = fields.flag("dynamic_image_size", true);
  const minTiles = fields.whole("min_dynamic_patch", 1, MOST_TILES);
  const maxTiles = fields.whole("max_dynamic_patch", PUBLISHED_MAX_TILES, MOST_TILES);
  if (maxTiles < minTiles) {
    throw new LabError(
      "bad-config",
      `config.json: max_dynamic_patch ${maxTiles} is below min_dynamic_patch ${minTiles}`,
      {
        subject: "max_dynamic_patch",
      },
    );
  }
  return {
    template: parseTemplate(fields.text("template")),
    tileSize,
    minTiles: dynamicImageSize ? minTiles : 1,
    maxTiles: dynamicImageSize ? maxTiles : 1,
    useThumbnail: fields.flag("use_thumbnail", true),
    dynamicImageSize,
    psVersion: fields.oneOf("ps_version", ["v1", "v2"], "v1"),
    tokensPerTile: tokenGridSide ** 2,
    tokenGridSide,
    vision,
    language: parseLanguageConfig(
      fields.child(
        fields.raw("llm_config") === undefined && fields.raw("text_config") !== undefined
          ? "text_config"
          : "llm_config",
      ),
    ),
    sam2: parseSam2Config(json.sam2_config),
    decoderSizes: parseDecoderSizes(fields),
  };
}

function parseDecoderSizes(top: Fields): DecoderSizes {
  if (top.raw("sam2_config") === undefined) return HIERA_L_DECODER;
  const fields = top.child("sam2_config");
  return {
    mlp: fields.whole("decoder_mlp_dim", HIERA_L_DECODER.mlp),
    iouHidden: fields.whole("iou_head_hidden_dim", HIERA_L_DECODER.iouHidden),
    maskIn: fields.whole("mask_in_chans", HIERA_L_DECODER.maskIn),
  };
}

/**
 * Only Sa2VA on InternVL has the towers and tensor names supported here; Sa2VA on Qwen-VL declares the same model type.
 */
function checkModelType(json: Record<string, unknown>): void {
  const named = Array.isArray(json.architectures) ? json.architectures[0] : undefined;
  const vision = isRecord(json.vision_config) ? json.vision_config.model_type : undefined;
  const tower = typeof vision === "string" && !vision.startsWith("intern_vit") ? ` on a ${shown(vision)} tower` : "";
  const found = named ?? json.model_type;
  const known = named === "Sa2VAChatModel" || (named === undefined && json.model_type === "sa2va_chat");
  if (known && tower === "") return;
  const what = typeof found === "string" ? shown(found) : "a model without a named type";
  throw new LabError(
    "unsupported",
    `config.json: unsupported family, ${what}${tower}; this lab loads Sa2VAChatModel on InternVL (InternViT tower)`,
    { subject: "architectures" },
  );
}

/** A name from a file, shortened. */
function shown(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

function parseTemplate(value: string): TemplateName {
  const name = value.replaceAll("-", "_");
  const known = (Object.keys(TEMPLATES) as TemplateName[]).find((template) => template === name);
  if (known === undefined) {
    throw new LabError(
      "unsupported",
      `config.json: template ${quote(value)} is not one of ${Object.keys(TEMPLATES).join(", ")}`,
      {
        subject: "template",
      },
    );
  }
  return known;
}

/** Reads an InternVisionConfig, whose defaults are those of the 6B tower. */
function parseVisionConfig(top: Fields): VisionConfig {
  const fields = top.child("vision_config");
  const hiddenSize = fields.whole("hidden_size", 3200);
  const heads = fields.whole("num_attention_heads", 25, MOST_HEADS);
  if (hiddenSize % heads !== 0) {
    throw new LabError(
      "bad-config",
      `config.json: vision_config.hidden_size ${hiddenSize} is not a multiple of ${heads} heads`,
      {
        subject: "vision_config.hidden_size",
      },
    );
  }
  const layers = fields.whole("num_hidden_layers", 48, MOST_BLOCKS);
  const selectLayer = top.integer("select_layer", -1);
  if (selectLayer >= 0 || selectLayer < -(layers + 1)) {
    throw new LabError("bad-config", `config.json: select_layer ${selectLayer} is not between -${layers + 1} and -1`, {
      subject: "select_layer",
    });
  }
  fields.oneOf("hidden_act", ["gelu"], "gelu");
  return {
    hiddenSize,
    layers,
    heads,
    mlpSize: fields.whole("intermediate_size", 12_800),
    imageSize: fields.whole("image_size", 224, MOST_PIXELS),
    patchSize: fields.whole("patch_size", 14, MOST_PIXELS),
    qkvBias: fields.flag("qkv_bias", false),
    qkNormalization: fields.flag("qk_normalization", true),
    normType: fields.oneOf("norm_type", ["layer_norm", "rms_norm"], "rms_norm"),
    normEps: fields.number("layer_norm_eps", 1e-6),
    selectLayer,
  };
}
