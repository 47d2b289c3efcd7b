/**
 * Arithmetic of a step, 2 operations per multiply-add (docs/spec/sa2va.md#17-sizes), and its time at a measured rate.
 */

import type { Throughput } from "../gpu/runtime/throughput.ts";
import type { DecoderSizes, Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";
import { isLanguageTensor } from "../model/language/language-families.ts";
import { PATCH_STRIDE, type Sam2Config } from "../model/sam2/config.ts";
import { hieraBlocks } from "../model/sam2/hiera.ts";
import type { GroupShape } from "./transient.ts";
import { elements, modelShapes } from "./weights.ts";

// Operations of SAM2's products, 2 per multiply-add (docs/spec/video.md#13-cost). They equal what the engine runs,
// including the padding of windows and the resizing of position embeddings; norms, activations and sums are not
// counted.

/** Sparse tokens of a frame with a language prompt, and those of a tracked frame. */
export const LANGUAGE_TOKENS = 3;
export const TRACKED_TOKENS = 2;

/** A product [rows, into] × [into, out]. */
export function product(rows: number, into: number, out: number): number {
  return 2 * rows * into * out;
}

/** Trunk and neck over one picture or frame; all objects share it. */
export function encoderWork(config: Sam2Config): number {
  const { imageSize, embedDim, hiddenDim } = config;
  let side = imageSize / PATCH_STRIDE;
  let width = embedDim;
  let sum = product(side * side, 7 * 7 * 3, width) + positionWork(config, side);
  for (const { window, pool, stageEnd } of hieraBlocks(config)) {
    const [into, shrink] = [width, pool ? 2 : 1];
    if (pool) {
      width *= 2;
      sum += product(side * side, into, width);
    }
    const across = window > 0 ? Math.ceil(side / window) : 1;
    const keys = window > 0 ? window : side;
    const queries = Math.floor(keys / shrink) ** 2;
    sum += product(across ** 2 * keys ** 2, into, 3 * width);
    sum += across ** 2 * (2 * product(queries, width, keys ** 2) + product(queries, width, width));
    side /= shrink;
    sum += 2 * product(side * side, width, 4 * width);
    if (stageEnd) sum += product(side * side, width, hiddenDim);
  }
  return sum;
}

/** Resizes the background embedding to the map, one axis at a time. */
function positionWork({ embedDim, posEmbedSize: [height, width] }: Sam2Config, side: number): number {
  return product(side, height, width * embedDim) + product(side, width, side * embedDim);
}

/**
 * Mask, choice of candidate and scores of one object on one frame, given the encoder's maps.
 * @param prompts number of sparse tokens
 */
export function decoderWork(config: Sam2Config, { mlp, iouHidden }: DecoderSizes, prompts: number): number {
  const { hiddenDim: width, decoderDepth, imageSize } = config;
  const cells = (imageSize / 16) ** 2;
  const tokens = 6 + prompts;
  const attention = (queries: number, keys: number, inner: number): number =>
    2 * product(queries, width, inner) + 2 * product(keys, width, inner) + 2 * product(queries, inner, keys);
  const half = width / 2;
  const layer =
    attention(tokens, tokens, width) +
    2 * product(tokens, width, mlp) +
    attention(tokens, cells, half) +
    attention(cells, tokens, half);
  const positions = product(cells, 2, half);
  const upscaling =
    product(4 * cells, width, width / 4) +
    product(16 * cells, width, width / 8) +
    product(cells, width, width) +
    product(4 * cells, width / 4, half);
  const head = (hidden: number, out: number): number =>
    product(1, width, hidden) + product(1, hidden, hidden) + product(1, hidden, out);
  const masks = 4 * head(width, width / 8) + product(4, width / 8, 16 * cells) + product(1, 3, 16 * cells);
  const heads = head(iouHidden, 4) + head(width, 1);
  return decoderDepth * layer + attention(tokens, cells, half) + positions + upscaling + masks + heads;
}

/** The object pointer from the chosen token. */
export function pointerWork({ hiddenDim: width }: Sam2Config): number {
  return product(1, 3, width) + 3 * product(1, width, width);
}

interface WorkOptions {
  readonly loops: number;
  readonly captions: boolean;
  readonly masks: boolean;
  readonly recompute: boolean;
  readonly microBatches: boolean;
  readonly reference: boolean;
  readonly passes: number;
  /** Share of pictures whose features are not in the cache, 0 … 1. */
  readonly newPictures: number;
}

/** Operations per token in the decoder's matrices, without attention and head. */
export function tokenFlops(config: Sa2vaConfig): number {
  const matrices = modelShapes(config).filter(
    ([name, shape]) =>
      isLanguageTensor(name) &&
      shape.length === 2 &&
      !/\.(embed_tokens|tok_embeddings|lm_head|output)\.weight$/.test(name),
  );
  return 2 * matrices.reduce((sum, [, shape]) => sum + elements(shape), 0);
}

/** Operations of both towers over one picture, or over the frames of a clip. */
export function towerFlops(config: Sa2vaConfig, tiles: number, frames = 1): number {
  return tiles * visionFamily(config).work(config) + frames * encoderWork(config.sam2);
}

/** Operations of one step, and its overhead as a number of small dispatches. */
export function stepWork(config: Sa2vaConfig, shape: GroupShape, options: WorkOptions) {
  const { layers, heads, headSize, hiddenSize, vocabSize } = config.language;
  const perToken = tokenFlops(config);
  const attention = (tokens: number, reach: number): number => 4 * layers * heads * headSize * tokens * reach;
  const prompt = shape.promptTokens * perToken + attention(shape.promptTokens, shape.promptTokens / 2);
  const head = 2 * hiddenSize * vocabSize;
  const completions = (rows: number, tokens: number): number =>
    rows * tokens * (perToken + head) + attention(rows * tokens, shape.promptTokens + tokens / 2);
  // A backward pass through frozen matrices costs about one more forward pass; recomputation adds another.
  const backward = 2 + (options.recompute ? 1 : 0) + (options.microBatches ? 1 : 0) + (options.reference ? 1 : 0);
  const caption = prompt + completions(shape.rollouts, shape.newTokens);
  const describe = prompt + completions(shape.described, shape.answerTokens);
  const decoder = shape.frames * decoderWork(config.sam2, config.decoderSizes, LANGUAGE_TOKENS);
  const loop1 = options.captions
    ? caption + prompt + shape.rollouts * decoder + options.passes * backward * caption
    : 0;
  const loop2 = options.masks ? prompt + decoder + describe + options.passes * backward * (prompt + decoder) : 0;
  const towers = options.newPictures * options.loops * towerFlops(config, shape.tiles, shape.frames);
  const drawings = (options.masks ? shape.drawn : 0) + (options.captions && shape.drawn > 0 ? options.newPictures : 0);
  const drawn = drawings * shape.tiles * visionFamily(config).work(config);
  const flops = shape.groups * (loop1 + loop2 + towers + drawn);
  const decodeSteps = (options.captions ? shape.newTokens : 0) + (options.masks ? shape.answerTokens : 0);
  const passes = shape.groups * options.loops * options.passes * (2 + backward);
  return { flops, dispatches: 24 * layers * (decodeSteps + passes) };
}

export function stepSeconds(work: { readonly flops: number; readonly dispatches: number }, rate: Throughput): number {
  return work.flops / rate.flops + work.dispatches * rate.dispatch;
}
