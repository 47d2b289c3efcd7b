/** Sa2VA on Qwen2.5-VL and Qwen3-VL: config.json (docs/spec/qwen-vl.md#1-checkpoints). */
import { isRecord } from "../../engine/bytes/json.ts";
import { LabError } from "../../engine/errors.ts";
import { type Fields, fieldsOf } from "../../engine/model/config-fields.ts";
import {
  type FamilyConfig,
  type FamilyReader,
  MOST_BLOCKS,
  MOST_HEADS,
  MOST_PIXELS,
  type VisionSizes,
} from "../../engine/model/families/family-config.ts";

/** Limits of the published preprocessing, in pixels: 512 and 2,048 squares of 28 x 28 for both towers. */
export const LEAST_PIXELS = 512 * 28 ** 2;
export const MOST_PICTURE_PIXELS = 2048 * 28 ** 2;

/** Patches along one side of a visual token. */
export const MERGE = 2;

/** A tower on patches of the picture's own shape. */
export interface QwenVision extends VisionSizes {
  readonly type: "qwen2_5_vl" | "qwen3_vl";
  /** Width of the language model, which the merger writes. */
  readonly outSize: number;
  /** Side of the square table of learned positions; 0 for none. */
  readonly positionSide: number;
  /** Side in patches of the windows that attention stays within; 0 where every block sees the whole picture. */
  readonly windowSide: number;
  /** Blocks that see the whole picture although the tower has windows. */
  readonly fullBlocks: readonly number[];
  /** Blocks whose outputs are merged and added to the first layers of the language model. */
  readonly deepstack: readonly number[];
}

const TOWERS = ["qwen2_5_vl", "qwen3_vl"] as const;

export const QWEN_VL: FamilyReader = {
  loads: "Sa2VAChatModelQwen on Qwen2.5-VL and Qwen3-VL",
  matches: (architecture, tower) =>
    (architecture === undefined || architecture === "Sa2VAChatModelQwen") && TOWERS.some((name) => name === tower),
  languageFields: (top) => {
    const own = top.raw("text_config");
    // The class's own switch decides; that of the nested block belongs to the model it was made from.
    const tied = top.raw("tie_word_embeddings");
    if (!isRecord(own) || tied === undefined) return top.child("text_config");
    return fieldsOf({ ...own, tie_word_embeddings: tied }, "text_config.");
  },
  read,
};

/** The tower of a model of this family. */
export function qwenVision({ vision }: Pick<FamilyConfig, "vision">): QwenVision {
  return vision as QwenVision;
}

/** Sizes are required: the class defaults are those of larger models than the published ones. */
function read(top: Fields): FamilyConfig {
  const vision = readVision(top);
  const token = (MERGE * vision.patchSize) ** 2;
  return {
    family: "qwen-vl",
    vision,
    tileSize: MERGE * vision.patchSize * Math.floor(Math.sqrt(MOST_PICTURE_PIXELS / token)),
    minTiles: 1,
    maxTiles: 1,
    useThumbnail: false,
    dynamicImageSize: false,
    psVersion: "v2",
    tokensPerTile: Math.floor(MOST_PICTURE_PIXELS / token),
    tokenGridSide: Math.floor(Math.sqrt(MOST_PICTURE_PIXELS / token)),
    regionPrompt: "outline",
    segAfterNorm: vision.type === "qwen2_5_vl",
  };
}

function readVision(top: Fields): QwenVision {
  const fields = top.child("vision_config");
  const type = fields.oneOf("model_type", TOWERS, TOWERS[1]);
  const windowed = type === "qwen2_5_vl";
  const hiddenSize = fields.whole("hidden_size");
  const heads = fields.whole("num_heads", undefined, MOST_HEADS);
  const patchSize = fields.whole("patch_size", undefined, MOST_PIXELS);
  const layers = fields.whole("depth", undefined, MOST_BLOCKS);
  const wrong = (key: string, what: string): LabError =>
    new LabError("bad-config", `config.json: vision_config.${key} ${what}`, { subject: `vision_config.${key}` });
  // A head is rotated in quarters: rows and columns, half-split each.
  if (hiddenSize % (4 * heads) !== 0)
    throw wrong("hidden_size", `${hiddenSize} is not a multiple of 4 x ${heads} heads`);
  for (const [key, wanted] of [
    ["spatial_merge_size", MERGE],
    ["temporal_patch_size", 2],
  ] as const) {
    const found = fields.whole(key);
    if (found !== wanted)
      throw new LabError("unsupported", `config.json: vision_config.${key} ${found} is not ${wanted}`, {
        subject: key,
      });
  }
  const act = windowed ? "silu" : "gelu_pytorch_tanh";
  fields.oneOf("hidden_act", [act], act);
  const window = windowed ? fields.whole("window_size", undefined, MOST_PIXELS) / patchSize : 0;
  if (window % MERGE !== 0) throw wrong("window_size", `is ${window} patches wide, it must be a multiple of ${MERGE}`);
  const positions = windowed ? 0 : Math.sqrt(fields.whole("num_position_embeddings"));
  if (!Number.isInteger(positions)) throw wrong("num_position_embeddings", `${positions ** 2} is not a square`);
  const required = (key: string): readonly number[] => {
    if (fields.raw(key) === undefined) throw wrong(key, "is missing");
    return fields.wholes(key, [], 0, layers - 1);
  };
  return {
    type,
    hiddenSize,
    layers,
    heads,
    mlpSize: fields.whole("intermediate_size"),
    patchSize,
    outSize: fields.whole("out_hidden_size"),
    positionSide: positions,
    windowSide: window,
    fullBlocks: windowed ? required("fullatt_block_indexes") : [],
    deepstack: windowed ? [] : required("deepstack_visual_indexes"),
  };
}
