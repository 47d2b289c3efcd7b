/**
 * Sizes of the SAM2 parts. Published checkpoints do not state them. The key `sam2_config` is this project's extension
 * for small models; without it the sizes are those of Hiera-L (docs/spec/sa2va.md#3-checkpoint-files).
 */
import { isRecord } from "../../bytes/json.ts";
import { LabError } from "../../errors.ts";
import { fieldsOf } from "../config-fields.ts";

/** Larger than any published SAM2. */
const MOST_PIXELS = 8192;
const MOST_CHANNELS = 8192;
const MOST_BLOCKS = 256;

export interface Sam2Config {
  /** Side of the square input in pixels. */
  readonly imageSize: number;
  /** Channels of the first stage; each further stage doubles them. */
  readonly embedDim: number;
  /** Attention heads of the first stage; each further stage doubles them. */
  readonly numHeads: number;
  /** Blocks per stage. */
  readonly stages: readonly number[];
  /** Blocks that attend over the whole map. */
  readonly globalAttBlocks: readonly number[];
  /** Window side per stage. */
  readonly windowSpec: readonly number[];
  /** Stored size [h, w] of the background position embedding. */
  readonly posEmbedSize: readonly [number, number];
  /** Channels of the neck and of the mask decoder. */
  readonly hiddenDim: number;
  readonly decoderDepth: number;
  readonly decoderNumHeads: number;
  readonly memory: MemorySizes;
}

/** Sizes of the parts that only video uses. */
interface MemorySizes {
  /** Channels of a stored memory; divides `hiddenDim`. */
  readonly dim: number;
  /** Layers of the memory attention. */
  readonly layers: number;
  /** Hidden width of the feed-forward part of these layers. */
  readonly mlp: number;
  /** Number of memory maps with separate time codes: one for conditioning frames, the others by distance. */
  readonly maps: number;
}

export const HIERA_L: Sam2Config = {
  imageSize: 1024,
  embedDim: 144,
  numHeads: 2,
  stages: [2, 6, 36, 4],
  globalAttBlocks: [23, 33, 43],
  windowSpec: [8, 4, 16, 8],
  posEmbedSize: [7, 7],
  hiddenDim: 256,
  decoderDepth: 2,
  decoderNumHeads: 8,
  memory: { dim: 64, layers: 4, mlp: 2048, maps: 7 },
};

/** Input pixels per cell of the patch embedding. */
export const PATCH_STRIDE = 4;

/**
 * The value of `sam2_config` in a config.json; absent keys take the Hiera-L value.
 * @throws LabError("bad-config") naming the key that is wrong
 */
export function parseSam2Config(value: unknown): Sam2Config {
  if (value === undefined || value === null) return HIERA_L;
  if (!isRecord(value)) {
    throw new LabError("bad-config", "config.json: sam2_config is not an object", { subject: "sam2_config" });
  }
  const fields = fieldsOf(value, "sam2_config.");
  const config: Sam2Config = {
    imageSize: fields.whole("image_size", HIERA_L.imageSize, MOST_PIXELS),
    embedDim: fields.whole("embed_dim", HIERA_L.embedDim, MOST_CHANNELS),
    numHeads: fields.whole("num_heads", HIERA_L.numHeads, MOST_CHANNELS),
    stages: fields.wholes("stages", HIERA_L.stages, 1, MOST_BLOCKS),
    globalAttBlocks: fields.wholes("global_att_blocks", HIERA_L.globalAttBlocks, 0, 4 * MOST_BLOCKS),
    windowSpec: fields.wholes("window_spec", HIERA_L.windowSpec, 1, MOST_PIXELS),
    posEmbedSize: pair(fields.wholes("window_pos_embed_bkg_spatial_size", HIERA_L.posEmbedSize, 1, MOST_CHANNELS)),
    hiddenDim: fields.whole("hidden_dim", HIERA_L.hiddenDim, MOST_CHANNELS),
    decoderDepth: fields.whole("decoder_depth", HIERA_L.decoderDepth, MOST_BLOCKS),
    decoderNumHeads: fields.whole("decoder_num_heads", HIERA_L.decoderNumHeads, MOST_CHANNELS),
    memory: {
      dim: fields.whole("mem_dim", HIERA_L.memory.dim, MOST_CHANNELS),
      layers: fields.whole("memory_num_layers", HIERA_L.memory.layers, MOST_BLOCKS),
      mlp: fields.whole("memory_ff_dim", HIERA_L.memory.mlp, MOST_CHANNELS),
      maps: fields.whole("num_maskmem", HIERA_L.memory.maps, MOST_BLOCKS),
    },
  };
  if (config.stages.length !== 4 || config.windowSpec.length !== 4) {
    throw new LabError("bad-config", "config.json: sam2_config.stages and window_spec must have four entries each");
  }
  if (config.imageSize % (PATCH_STRIDE * 8) !== 0) {
    const side = PATCH_STRIDE * 8;
    throw new LabError(
      "bad-config",
      `config.json: sam2_config.image_size ${config.imageSize} is not a multiple of ${side}`,
    );
  }
  return config;
}

function pair(values: readonly number[]): readonly [number, number] {
  const [height, width] = values;
  if (height === undefined || width === undefined) {
    throw new LabError("bad-config", "config.json: sam2_config.window_pos_embed_bkg_spatial_size needs two numbers");
  }
  return [height, width];
}
