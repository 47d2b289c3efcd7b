/**
 * Arithmetic of a step, 2 operations per multiply-add (docs/spec/sa2va.md#17-sizes), and its time at a measured rate.
 */
import type { Throughput } from "../gpu/runtime/throughput.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";
import { isLanguageTensor } from "../model/language/language-families.ts";
import { decoderWork, encoderWork, LANGUAGE_TOKENS } from "./sam2-work.ts";
import type { GroupShape } from "./transient.ts";
import { elements, modelShapes } from "./weights.ts";

export interface WorkOptions {
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
