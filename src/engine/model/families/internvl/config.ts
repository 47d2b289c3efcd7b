/** Sa2VA on InternVL: config.json (docs/spec/sa2va.md#3-checkpoint-files). */
import { LabError } from "../../../errors.ts";
import type { Fields } from "../../config-fields.ts";
import {
  type FamilyConfig,
  type FamilyReader,
  MOST_BLOCKS,
  MOST_HEADS,
  MOST_PIXELS,
  type VisionSizes,
} from "../family-config.ts";

/** `max_dynamic_patch` of every published checkpoint; the published code uses it whatever config.json says. */
export const PUBLISHED_MAX_TILES = 12;
const MOST_TILES = 1024;

/** InternViT. */
export interface VisionConfig extends VisionSizes {
  /** Side in pixels of the square that the position embedding was trained for. */
  readonly imageSize: number;
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

export const INTERNVL: FamilyReader = {
  loads: "Sa2VAChatModel on InternVL (InternViT tower)",
  matches: (architecture, tower) =>
    (architecture === undefined || architecture === "Sa2VAChatModel") &&
    (tower === undefined || tower.startsWith("intern_vit")),
  languageFields: (top) =>
    top.child(
      top.raw("llm_config") === undefined && top.raw("text_config") !== undefined ? "text_config" : "llm_config",
    ),
  read,
};

/** The tower of a model of this family. */
export function internVit({ vision }: Pick<FamilyConfig, "vision">): VisionConfig {
  return vision as VisionConfig;
}

/** Tiling is the exception to class defaults: the published code fixes the values of all published checkpoints. */
function read(fields: Fields): FamilyConfig {
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
    family: "internvl",
    tileSize,
    minTiles: dynamicImageSize ? minTiles : 1,
    maxTiles: dynamicImageSize ? maxTiles : 1,
    useThumbnail: fields.flag("use_thumbnail", true),
    dynamicImageSize,
    psVersion: fields.oneOf("ps_version", ["v1", "v2"], "v1"),
    tokensPerTile: tokenGridSide ** 2,
    tokenGridSide,
    vision,
    regionPrompt: "tokens",
    segAfterNorm: true,
  };
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
