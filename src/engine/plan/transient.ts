/**
 * Memory a step takes on top of what is always held: features of the picture, keys and values, activations. The language
 * model's share follows from its sizes; how often each array exists at the worst moment was measured on small models
 * (tests/gpu/forecast.test.ts compares), so on large ones it is an estimate.
 */
import { HELD_BYTES, KEPT_FREE_BYTES, KEPT_SCORE_BYTES, SUBMIT_DISPATCHES } from "../gpu/memory-sizes.ts";
import type { Sa2vaConfig } from "../model/config.ts";

const F32 = 4;

/** Copies of a block's per-token arrays and of its score arrays while it is differentiated, and of keys and values per row. */
const TOKEN_COPIES = 7.25;
const SCORE_COPIES = 3.1;
const CACHE_COPIES = 11.4;
/** The same where attention works in blocks without a score array: on software adapters, and of long sequences everywhere. */
const BLOCK_SCORE_COPIES = 0.3;
const BLOCK_CACHE_COPIES = 5.3;
/** A recomputed block against one that is kept: the weighted sums that carry its outputs' gradients. */
const RECOMPUTE_COPIES = 1.45;
const LOGIT_COPIES = 4;
/** Arrays of the mask decoder at its finest grid, in channels of that grid times the decoder's width. */
const DECODER_COPIES = 16;
/** The same of a phrase's mask without a gradient. */
const FOUND_COPIES = 4.8;
/** Copies of one block's per-token arrays in a pass without a gradient. */
const PREFILL_COPIES = 1.5;
/** Size of the average tensor that waits for a submit, in the same units as the towers'. */
const SUBMIT_COPIES = 1.5;
/** Arrays of SAM2's image encoder in units of its first stage. */
const TOWER_COPIES = 40;

/** What the groups of a loop look like. */
export interface GroupShape {
  /** Tiles of the picture, the thumbnail included. */
  readonly tiles: number;
  /** Frames of a clip, each with separate maps and masks; 1 for a picture. */
  readonly frames: number;
  /** Tokens before the first sampled one. */
  readonly promptTokens: number;
  readonly rollouts: number;
  /** Longest completion. */
  readonly newTokens: number;
  /** Groups that are decoded together. */
  readonly groups: number;
  /** Masks of a group that the partner describes, the tokens of each behind the shared prompt, and its longest answer. */
  readonly described: number;
  readonly tailTokens: number;
  readonly answerTokens: number;
}

export interface TransientOptions {
  readonly rank: number;
  /** Attention always works in blocks, as it does on software adapters; false keeps small score arrays. */
  readonly blocks: boolean;
  readonly recompute: boolean;
  /** Rollouts differentiated at once, 0 for all. */
  readonly microRollouts: number;
  /** Groups in one backward pass, 0 for all; one where rollouts are taken apart. */
  readonly groupsAtOnce: number;
  readonly captions: boolean;
  readonly masks: boolean;
}

export interface TransientForecast {
  readonly features: number;
  readonly cache: number;
  /** Worst of the backward passes. */
  readonly activations: number;
  /** Frozen towers over one picture. */
  readonly towers: number;
  /** Worst of what passes without a gradient hold: towers, prompts, the masks of phrases. */
  readonly answering: number;
  /** Freed tensors whose commands are not handed in yet, and free buffers. */
  readonly spare: number;
  /** While groups are sampled and answered: features, keys and values, what the passes hold, and what is spare. */
  readonly sampling: number;
  /** In a backward pass: some features, activations, and what is spare. */
  readonly learning: number;
}

/** Bytes of frozen features: vision tokens, and three maps of SAM2 for a picture or each frame of a clip. */
export function featureBytes(config: Sa2vaConfig, tiles: number, frames = 1): number {
  const maps = [4, 8, 16].reduce((sum, stride) => sum + (config.sam2.imageSize / stride) ** 2, 0);
  const vision = tiles * config.tokensPerTile * 4 * config.vision.hiddenSize;
  return F32 * (vision + frames * maps * config.sam2.hiddenDim);
}

/** Bytes of keys and values while groups are decoded: what rows share once a group, the rest once a row. */
export function cacheBytes(
  { language }: Pick<Sa2vaConfig, "language">,
  groups: number,
  shared: number,
  rows: number,
  each: number,
): number {
  return language.layers * 2 * language.kvHeads * language.headSize * F32 * groups * (shared + rows * each);
}

export function transientForecast(
  config: Sa2vaConfig,
  shape: GroupShape,
  options: TransientOptions,
): TransientForecast {
  const picture = featureBytes(config, shape.tiles, shape.frames);
  // A loop's pictures are all there while its groups are sampled.
  const features = shape.groups * picture;
  const { groups, promptTokens, tailTokens, described } = shape;
  const sampled = options.captions ? cacheBytes(config, groups, promptTokens, shape.rollouts, shape.newTokens) : 0;
  const answers = tailTokens + shape.answerTokens;
  const told = options.masks ? cacheBytes(config, groups, promptTokens - tailTokens, described, answers) : 0;
  const cache = Math.max(sampled, told);
  const towers = F32 * TOWER_COPIES * (config.sam2.imageSize / 4) ** 2 * config.sam2.embedDim;
  const rows = options.microRollouts > 0 ? Math.min(options.microRollouts, shape.rollouts) : shape.rollouts;
  const atOnce = options.microRollouts > 0 ? 1 : Math.min(options.groupsAtOnce || shape.groups, shape.groups);
  const captions = options.captions ? atOnce * captionBytes(config, shape, rows, options) : 0;
  const masks = options.masks ? atOnce * maskBytes(config, shape, options) : 0;
  const activations = Math.max(captions, masks);
  const together = Math.min(options.groupsAtOnce || groups, groups);
  const tokens = together * Math.max(promptTokens, options.masks ? described * tailTokens : 0);
  const prompts = F32 * PREFILL_COPIES * tokens * tokenFloats(config, options.rank);
  const found = options.captions ? together * shape.rollouts : options.masks ? together : 0;
  const decoded = F32 * FOUND_COPIES * found * shape.frames * (config.sam2.imageSize / 4) ** 2 * config.sam2.hiddenDim;
  const waiting = Math.min(HELD_BYTES, (SUBMIT_DISPATCHES * SUBMIT_COPIES * towers) / TOWER_COPIES);
  const answering = Math.max(towers, cache + prompts, decoded);
  return {
    features,
    cache,
    activations,
    towers,
    answering,
    spare: waiting + KEPT_FREE_BYTES,
    sampling: features + answering + waiting + KEPT_FREE_BYTES,
    // Activations that are small take the free buffers.
    learning: atOnce * picture + Math.max(activations, KEPT_FREE_BYTES) + waiting,
  };
}

/** Backward pass over one group's captions: the prompt once, the rollouts behind it, the scores of their tokens. */
export function captionBytes(
  config: Sa2vaConfig,
  shape: Pick<GroupShape, "promptTokens" | "newTokens">,
  rows: number,
  options: Pick<TransientOptions, "rank" | "recompute" | "blocks">,
): number {
  const { language } = config;
  const prompt = blockFloats(config, shape.promptTokens, shape.promptTokens, 1, options);
  const reach = shape.promptTokens + shape.newTokens;
  const tails = blockFloats(config, rows * shape.newTokens, reach, rows, options);
  const logits = LOGIT_COPIES * rows * shape.newTokens * language.vocabSize;
  if (!options.recompute) return F32 * (language.layers * (prompt + tails) + logits);
  const tokens = shape.promptTokens + rows * shape.newTokens;
  const width = language.hiddenSize + 2 * language.kvHeads * language.headSize;
  const kept = language.layers * (tokens * width + rows * reach * 2 * language.kvHeads * language.headSize);
  // What the loss and the head made stays until the backward pass has ended.
  return F32 * (RECOMPUTE_COPIES * Math.max(prompt, tails) + logits + kept);
}

/** Backward pass of one phrase: the language model over its prompt, then the mask decoder. */
export function maskBytes(
  config: Sa2vaConfig,
  shape: Pick<GroupShape, "promptTokens" | "frames">,
  options: Pick<TransientOptions, "rank" | "recompute" | "blocks">,
): number {
  const { language, sam2 } = config;
  const prompt = blockFloats(config, shape.promptTokens, shape.promptTokens, 1, options);
  const decoder = DECODER_COPIES * shape.frames * (sam2.imageSize / 4) ** 2 * sam2.hiddenDim;
  if (!options.recompute) return F32 * (language.layers * prompt + decoder);
  const width = language.hiddenSize + 2 * language.kvHeads * language.headSize;
  return F32 * (RECOMPUTE_COPIES * prompt + decoder + language.layers * shape.promptTokens * width);
}

/** Elements that a token has in a decoder block, each array once. */
function tokenFloats({ language }: Pick<Sa2vaConfig, "language">, rank: number): number {
  const { hiddenSize, heads, kvHeads, headSize, mlpSize } = language;
  return 4 * hiddenSize + 2 * heads * headSize + 2 * kvHeads * headSize + 3 * mlpSize + 7 * rank;
}

/** Elements of one differentiated decoder block. @param rows behind a shared prompt; 1 for the prompt itself */
function blockFloats(
  config: Sa2vaConfig,
  tokens: number,
  reach: number,
  rows: number,
  { rank, blocks }: Pick<TransientOptions, "rank" | "blocks">,
): number {
  const { heads, kvHeads, headSize } = config.language;
  const perToken = tokenFloats(config, rank);
  const scores = heads * tokens * reach;
  const inBlocks = blocks || F32 * scores > KEPT_SCORE_BYTES;
  const repeated =
    rows > 1 ? (inBlocks ? BLOCK_CACHE_COPIES : CACHE_COPIES) * rows * reach * 2 * kvHeads * headSize : 0;
  return TOKEN_COPIES * tokens * perToken + (inBlocks ? BLOCK_SCORE_COPIES : SCORE_COPIES) * scores + repeated;
}
