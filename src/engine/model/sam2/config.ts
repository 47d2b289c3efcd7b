/**
 * Sizes of the SAM2 parts. Published checkpoints do not state them: the key `sam2_config` is this project's extension
 * for small models, and its absence means Hiera-L (reference: sa2va.md §3).
 */
import { LabError } from "../../errors.ts";

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
};

/** Input pixels per cell of the patch embedding. */
export const PATCH_STRIDE = 4;

/**
 * The value of `sam2_config` in a config.json; keys that are absent take the Hiera-L value.
 * @throws LabError("bad-config") naming the key that is wrong
 */
export function parseSam2Config(value: unknown): Sam2Config {
  if (value === undefined || value === null) return HIERA_L;
  if (typeof value !== "object") throw new LabError("bad-config", "config.json: sam2_config is not an object");
  const json = value as Record<string, unknown>;
  const config: Sam2Config = {
    imageSize: whole(json, "image_size", HIERA_L.imageSize),
    embedDim: whole(json, "embed_dim", HIERA_L.embedDim),
    numHeads: whole(json, "num_heads", HIERA_L.numHeads),
    stages: wholes(json, "stages", HIERA_L.stages, 1),
    globalAttBlocks: wholes(json, "global_att_blocks", HIERA_L.globalAttBlocks, 0),
    windowSpec: wholes(json, "window_spec", HIERA_L.windowSpec, 1),
    posEmbedSize: pair(wholes(json, "window_pos_embed_bkg_spatial_size", HIERA_L.posEmbedSize, 1)),
    hiddenDim: whole(json, "hidden_dim", HIERA_L.hiddenDim),
    decoderDepth: whole(json, "decoder_depth", HIERA_L.decoderDepth),
    decoderNumHeads: whole(json, "decoder_num_heads", HIERA_L.decoderNumHeads),
  };
  if (config.stages.length !== 4 || config.windowSpec.length !== 4) {
    throw new LabError("bad-config", "config.json: sam2_config.stages and window_spec must have four entries each");
  }
  if (config.imageSize % (PATCH_STRIDE * 8) !== 0) {
    const side = PATCH_STRIDE * 8;
    throw new LabError(
      "bad-config",
      `config.json: sam2_config.image_size ${config.imageSize} is no multiple of ${side}`,
    );
  }
  return config;
}

function whole(json: Record<string, unknown>, key: string, fallback: number): number {
  const value = json[key] ?? fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
    throw new LabError("bad-config", `config.json: sam2_config.${key} is not a whole number from 1 on`, {
      subject: key,
    });
  }
  return value;
}

function wholes(
  json: Record<string, unknown>,
  key: string,
  fallback: readonly number[],
  least: number,
): readonly number[] {
  const value = json[key] ?? fallback;
  const good = Array.isArray(value) && value.every((item) => Number.isInteger(item) && item >= least);
  if (!good) {
    throw new LabError("bad-config", `config.json: sam2_config.${key} is not a list of whole numbers`, {
      subject: key,
    });
  }
  return value as readonly number[];
}

function pair(values: readonly number[]): readonly [number, number] {
  const [height, width] = values;
  if (height === undefined || width === undefined) {
    throw new LabError("bad-config", "config.json: sam2_config.window_pos_embed_bkg_spatial_size needs two numbers");
  }
  return [height, width];
}
