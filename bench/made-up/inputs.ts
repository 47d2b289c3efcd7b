/**
 * Inputs of a step without a published checkpoint: a model of random weights with the shapes of Sa2VA-1B, of a release on
 * Qwen-VL or of the golden model, and a shard of one row.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "fast-png";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { encodeRle } from "../../src/engine/data/mask/rle.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { HIERA_L_DECODER } from "../../src/engine/model/config.ts";
import { HIERA_L } from "../../src/engine/model/sam2/config.ts";
import { trueConfig, writeGoldenTokenizer, writeSynthetic } from "./checkpoint.ts";
import { QWEN_TOKENS, type QwenRelease, qwenConfig } from "./qwen.ts";

/** The golden model's shapes, or those of a release, of 1B by default, with at most so many blocks. */
export type MadeShapes = "small" | { readonly layers: number; readonly release?: QwenRelease | undefined };
/** The shapes of a release with all blocks. */
export const ALL_LAYERS = 36;

/** SAM2's sizes as config.json has them in this project; published files do not state them. */
const SAM2 = {
  image_size: HIERA_L.imageSize,
  embed_dim: HIERA_L.embedDim,
  num_heads: HIERA_L.numHeads,
  window_spec: HIERA_L.windowSpec,
  window_pos_embed_bkg_spatial_size: HIERA_L.posEmbedSize,
  hidden_dim: HIERA_L.hiddenDim,
  decoder_depth: HIERA_L.decoderDepth,
  decoder_num_heads: HIERA_L.decoderNumHeads,
  decoder_mlp_dim: HIERA_L_DECODER.mlp,
  iou_head_hidden_dim: HIERA_L_DECODER.iouHidden,
  mask_in_chans: HIERA_L_DECODER.maskIn,
};

/** config.json of the made-up model. */
export function madeConfig(shapes: MadeShapes): Record<string, unknown> {
  if (shapes === "small") return trueConfig("small");
  const { release, layers } = shapes;
  if (release === undefined) return cut(trueConfig("1B"), layers);
  return { ...qwenConfig(release, layers), sam2_config: cutSam2(layers) };
}

/** Writes a checkpoint to `model` and a shard of one row to `shards`; both folders may be missing. */
export function writeInputs(
  { model, shards }: { readonly model: string; readonly shards: string },
  shapes: MadeShapes,
): { readonly bytes: number; readonly parameters: number } {
  for (const path of [model, shards]) mkdirSync(path, { recursive: true });
  const config = madeConfig(shapes);
  const written = writeSynthetic(model, config, shapes === "small" ? 200_000 : 500_000_000, "BF16");
  const { vocab_size: rows } = (config.llm_config ?? config.text_config) as { vocab_size: number };
  writeTokenizer(model, rows, shapes !== "small" && shapes.release !== undefined ? QWEN_TOKENS : []);
  writeFileSync(join(shards, "data.arrow"), madeShard(madePicture(shapes)));
  return written;
}

/** At most so many blocks in the language model, the vision tower and each stage of Hiera. */
function cut(config: Record<string, unknown>, layers: number): Record<string, unknown> {
  const fewer = (part: unknown): Record<string, unknown> => {
    const own = part as Record<string, unknown> & { readonly num_hidden_layers: number };
    return { ...own, num_hidden_layers: Math.min(own.num_hidden_layers, layers) };
  };
  return {
    ...config,
    vision_config: fewer(config.vision_config),
    llm_config: fewer(config.llm_config),
    sam2_config: cutSam2(layers),
  };
}

/** Sizes with at most so many blocks in each stage of Hiera, which keeps a block with global attention. */
function cutSam2(layers: number): Record<string, unknown> {
  const stages = HIERA_L.stages.map((blocks) => Math.min(blocks, layers));
  const whole = stages.every((blocks, at) => blocks === HIERA_L.stages[at]);
  const last = stages.slice(0, 3).reduce((sum, blocks) => sum + blocks) - 1;
  return { ...SAM2, stages, global_att_blocks: whole ? HIERA_L.globalAttBlocks : [last] };
}

/**
 * The golden tokenizer with a made-up word for every further row of the embedding, so that any drawn token has a text.
 * @param renamed tokens, and their names in the family
 */
function writeTokenizer(
  directory: string,
  rows: number,
  renamed: readonly (readonly [name: string, own: string])[],
): void {
  writeGoldenTokenizer(directory, renamed);
  const path = join(directory, "tokenizer.json");
  const tokenizer = JSON.parse(readFileSync(path, "utf8")) as {
    added_tokens: { id: number; content: string }[];
    model: { vocab: Record<string, number> };
  };
  // Python's library gives an added token the id of its entry in the vocabulary, and another one where it has none.
  for (const { id, content } of tokenizer.added_tokens) tokenizer.model.vocab[content] = id;
  const first = 1 + Math.max(...tokenizer.added_tokens.map(({ id }) => id), ...Object.values(tokenizer.model.vocab));
  for (let id = first; id < rows; id++) tokenizer.model.vocab[`Ġw${id.toString(26)}`] = id;
  writeFileSync(path, JSON.stringify(tokenizer));
}

/** A disc on a gradient, as large as one tile. */
export function madePicture(shapes: MadeShapes): RgbImage & { readonly mask: Uint8Array } {
  const side = shapes === "small" ? 96 : 448;
  const data = new Uint8Array(side * side * 3);
  const mask = new Uint8Array(side * side);
  for (let at = 0; at < side * side; at++) {
    const [x, y] = [at % side, Math.floor(at / side)];
    const inside = Math.hypot(x - 0.4 * side, y - 0.55 * side) < 0.25 * side;
    mask[at] = Number(inside);
    data.set(inside ? [220, 60 + (x % 16), 40] : [40, (200 * x) / side, (200 * y) / side], 3 * at);
  }
  return { width: side, height: side, data, mask };
}

/** A shard of one row. */
function madeShard({ mask, ...picture }: ReturnType<typeof madePicture>): Uint8Array {
  const bytes = encode({ ...picture, channels: 3 });
  const conversations = [
    { from: "human", value: "<image>\nDescribe the region." },
    { from: "gpt", value: "a red disc on the left" },
  ];
  return writeRegionShard([
    { image: { bytes, path: "disc.png" }, mask: encodeRle(mask, picture.height, picture.width), conversations },
  ]);
}
