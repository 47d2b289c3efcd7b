/**
 * Memory that a step takes besides what is always held: features of pictures, keys and values, activations. The
 * language model's share follows from its sizes; how many copies of each array exist at the peak was measured on small
 * models (tests/gpu/forecast.test.ts compares) and at the widths of Sa2VA-1B (\`npm run step-1b\`).
 */
import { FREE_BYTES, KEPT_SCORE_BYTES } from "../gpu/memory-sizes.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";

const F32 = 4;

/** How many copies of each array exist at the peak. */
interface Copies {
  /** A block's per-token arrays and its score arrays while it is differentiated, and keys and values per row. */
  readonly token: number;
  readonly score: number;
  readonly cache: number;
  /**
   * The same where attention works in blocks without a score array: on software adapters, and everywhere for long
   * sequences.
   */
  readonly blockScore: number;
  readonly blockCache: number;
  /** Factor of a recomputed block over a stored one: it adds the weighted sums that carry its outputs' gradients. */
  readonly recompute: number;
  /**
   * Share of the smaller of two recomputed passes, prompt and tails: one recording leaves its free buffers, which the GPU
   * may still use.
   */
  readonly beside: number;
  readonly logit: number;
  /** Arrays of logits at every token of a supervised caption and its question. */
  readonly taught: number;
  /**
   * Arrays of the mask decoder in units of its finest grid times the decoder's width; `found` applies without a
   * gradient.
   */
  readonly decoder: number;
  readonly found: number;
  /** One block's per-token arrays in a pass without a gradient. */
  readonly prefill: number;
  /**
   * Arrays of SAM2's image encoder in units of its first stage, and of the vision tower in units of its stream over a
   * tile.
   */
  readonly tower: number;
  readonly vision: number;
}

/** Measured on small models. */
const POOLED: Copies = {
  token: 3.6,
  score: 3.1,
  cache: 11.4,
  blockScore: 0.3,
  blockCache: 5.3,
  recompute: 1.45,
  beside: 1,
  logit: 4,
  taught: 11,
  decoder: 10,
  found: 4.8,
  prefill: 2,
  tower: 40,
  vision: 30,
};

/** Bytes in every step: uniforms, timestamps, and tensors too small to count one by one. */
const BESIDE = 2 ** 18;
/** Minimum pixels assumed for a picture, because a plan does not know its size. */
const LEAST_PICTURE = 2 ** 16;
/** Bytes per pixel of a mask, whose bits exist three times: in words, joined with other masks, and read back. */
const MASK_BYTES = (3 * F32) / 16;

/** Score arrays of an attention that differentiates with respect to its mask. */
const SOFT_SCORES = 7;
/** What keys and values of the picture add to the questions behind it. */
const BEHIND = 1.1;
/** Share of a soft mask's pass that every group holds where other passes are recomputed; the rest one group at a time needs. */
const SOFT_KEPT = 0.55;
/** Arrays at a picture's size while its soft mask is made and differentiated. */
const SOFT_MAPS = 5;

/** Without free buffers: measured at the widths of Sa2VA-1B. */
const USED: Copies = {
  ...POOLED,
  taught: 7,
  token: 1.8,
  recompute: 1.7,
  beside: 0,
  decoder: 5.6,
  found: 1.6,
  tower: 11.2,
};

/** Bytes of a pass: the buffers it uses and the free buffers it leaves, which the pool bounds. */
function withFree(bytes: (copies: Copies) => number): number {
  return Math.min(bytes(POOLED), bytes(USED) + FREE_BYTES);
}

/** Sizes of a loop's groups. */
export interface GroupShape {
  /** Tiles of the picture, the thumbnail included. */
  readonly tiles: number;
  /** Frames of a clip, each with separate maps and masks; 1 for a picture. */
  readonly frames: number;
  /** Tokens of the longest caption of the rows. */
  readonly captionTokens: number;
  /** Tokens of a question for a mask with the longest phrase, and of its answer up to [SEG], without the picture. */
  readonly phraseTokens: number;
  /** Tokens before the first sampled one. */
  readonly promptTokens: number;
  readonly rollouts: number;
  /** Longest completion. */
  readonly newTokens: number;
  /** Groups that are decoded together. */
  readonly groups: number;
  /**
   * Masks of a group that the partner describes; then the tokens of each after the shared prompt, and of the longest
   * answer.
   */
  readonly described: number;
  readonly tailTokens: number;
  readonly answerTokens: number;
  /** Prompts that the mask policy decodes at a time, besides the phrase's. */
  readonly tried: number;
  /** Passes of the vision tower per group and step over pictures with a drawn region; 0 where regions are copied tokens. */
  readonly drawn: number;
  /** Tokens of the pass for the caption's likelihood through the soft mask; 0 for policies without it. */
  readonly softTokens: number;
}

interface TransientOptions {
  readonly rank: number;
  /** Attention always works in blocks, as it does on software adapters; false keeps small score arrays. */
  readonly blocks: boolean;
  readonly recompute: boolean;
  /** Rollouts differentiated at once, 0 for all. */
  readonly microRollouts: number;
  /** Groups in one backward pass, 0 for all; always one with `microRollouts`. */
  readonly groupsAtOnce: number;
  readonly captions: boolean;
  readonly masks: boolean;
  /** Whether both tasks of one row at a time are learned from its caption and mask, without rollouts. */
  readonly supervised: boolean;
}

export interface TransientForecast {
  readonly features: number;
  readonly cache: number;
  /** The largest of the backward passes. */
  readonly activations: number;
  /** Frozen towers over one picture. */
  readonly towers: number;
  /** The largest of the other passes without a gradient: prompts with their keys and values, and masks of phrases. */
  readonly answering: number;
  /** Peak while groups are sampled and answered: features, keys and values, and the arrays of the passes. */
  readonly sampling: number;
  /** Peak in a backward pass: features of its pictures, and activations. */
  readonly learning: number;
}

/** Bytes of frozen features: vision tokens, and SAM2's three maps for a picture or for each frame of a clip. */
export function featureBytes(config: Sa2vaConfig, tiles: number, frames = 1): number {
  const maps = [4, 8, 16].reduce((sum, stride) => sum + (config.sam2.imageSize / stride) ** 2, 0);
  const vision = tiles * visionFamily(config).sizes(config).features;
  return F32 * (vision + frames * maps * config.sam2.hiddenDim);
}

/** Bytes of keys and values while groups are decoded: the shared part once per group, the rest once per row. */
function cacheBytes(
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
  // The tokens of a picture exist twice if a region is drawn into it.
  const twice = shape.drawn > 0 ? F32 * shape.tiles * visionFamily(config).sizes(config).features : 0;
  const picture = featureBytes(config, shape.tiles, shape.frames) + twice;
  // All pictures of a loop are on the GPU while its groups are sampled.
  const features = shape.groups * picture;
  const { groups, promptTokens, tailTokens, described } = shape;
  const sampled = options.captions ? cacheBytes(config, groups, promptTokens, shape.rollouts, shape.newTokens) : 0;
  const answers = tailTokens + shape.answerTokens;
  const told = options.masks ? cacheBytes(config, groups, promptTokens - tailTokens, described, answers) : 0;
  const cache = Math.max(sampled, told);
  const stage = F32 * (config.sam2.imageSize / 4) ** 2 * config.sam2.embedDim;
  const { tileSize } = config;
  const stream = F32 * visionFamily(config).sizes(config).stream;
  const towers = withFree((copies) => Math.max(copies.tower * stage, copies.vision * stream));
  const rows = options.microRollouts > 0 ? Math.min(options.microRollouts, shape.rollouts) : shape.rollouts;
  const atOnce = options.microRollouts > 0 ? 1 : Math.min(options.groupsAtOnce || shape.groups, shape.groups);
  const captions = options.captions
    ? withFree((copies) => atOnce * captionBytes(config, shape, rows, options, copies))
    : 0;
  const asked = shape.tiles * config.tokensPerTile + shape.phraseTokens;
  const soft = options.recompute ? SOFT_KEPT * atOnce + 1 - SOFT_KEPT : atOnce;
  const masks = options.masks
    ? withFree(
        (copies) =>
          atOnce * maskBytes(config, { ...shape, promptTokens: asked }, options, copies) +
          soft * softBytes(config, shape, options, copies),
      )
    : 0;
  const taught = options.supervised ? withFree((copies) => taughtBytes(config, shape, options, copies)) : 0;
  const activations = options.supervised ? taught : Math.max(captions, masks);
  const together = Math.min(options.groupsAtOnce || groups, groups);
  const tokens = together * Math.max(promptTokens, options.masks ? described * tailTokens : 0);
  const prompts = F32 * POOLED.prefill * tokens * tokenFloats(config, options.rank);
  const found = options.captions ? together * shape.rollouts : options.masks ? together : 0;
  const grid = F32 * shape.frames * (config.sam2.imageSize / 4) ** 2 * config.sam2.hiddenDim;
  const tried = options.masks ? USED.found * shape.tried * grid : 0;
  const free = withFree((copies) => copies.found * found * grid);
  const decoded = Math.max(tried, free);
  const masksRead =
    Math.max(options.captions ? shape.rollouts : 0, options.masks ? described : 0) * groups * shape.frames;
  const bits = MASK_BYTES * Math.max(LEAST_PICTURE, tileSize ** 2) * masksRead;
  const answering = Math.max(cache + prompts, decoded);
  if (options.supervised) {
    const sampling = BESIDE + towers;
    return {
      features: picture,
      cache: 0,
      activations,
      towers,
      answering: 0,
      sampling,
      learning: sampling - towers + picture + taught,
    };
  }
  return {
    features,
    cache,
    activations,
    towers,
    answering,
    // The features of the picture in the towers are created last.
    sampling: BESIDE + Math.max(features - picture + towers, features + answering + bits),
    learning: BESIDE + atOnce * picture + activations,
  };
}

/** Backward pass over one group's captions: the prompt once, the rollouts after it, and the scores of their tokens. */
export function captionBytes(
  config: Sa2vaConfig,
  shape: Pick<GroupShape, "promptTokens" | "newTokens">,
  rows: number,
  options: Pick<TransientOptions, "rank" | "recompute" | "blocks">,
  copies: Copies = POOLED,
): number {
  const { language } = config;
  const prompt = blockFloats(config, shape.promptTokens, shape.promptTokens, 1, options, copies);
  const reach = shape.promptTokens + shape.newTokens;
  const tails = blockFloats(config, rows * shape.newTokens, reach, rows, options, copies);
  const logits = copies.logit * rows * shape.newTokens * language.vocabSize;
  if (!options.recompute) return F32 * (language.layers * (prompt + tails) + logits);
  const tokens = shape.promptTokens + rows * shape.newTokens;
  const width = language.hiddenSize + 2 * language.kvHeads * language.headSize;
  const kept = language.layers * (tokens * width + rows * reach * 2 * language.kvHeads * language.headSize);
  // Arrays of the loss and the head stay until the backward pass has ended.
  const block = Math.max(prompt, tails) + copies.beside * Math.min(prompt, tails);
  return F32 * (copies.recompute * block + logits + kept);
}

/** Backward pass of one phrase: the language model over its prompt, then the mask decoder. */
export function maskBytes(
  config: Sa2vaConfig,
  shape: Pick<GroupShape, "promptTokens" | "frames">,
  options: Pick<TransientOptions, "rank" | "recompute" | "blocks">,
  copies: Copies = POOLED,
): number {
  const { language, sam2 } = config;
  const prompt = blockFloats(config, shape.promptTokens, shape.promptTokens, 1, options, copies);
  const decoder = copies.decoder * shape.frames * (sam2.imageSize / 4) ** 2 * sam2.hiddenDim;
  if (!options.recompute) return F32 * (language.layers * prompt + decoder);
  const width = language.hiddenSize + 2 * language.kvHeads * language.headSize;
  return F32 * (copies.recompute * prompt + decoder + language.layers * shape.promptTokens * width);
}

/**
 * Both tasks of one row on one tape, also where one of them has no weight: the picture, and behind it the question with
 * the caption and the question with the phrase, then the logits of the former and the mask decoder.
 */
function taughtBytes(
  config: Sa2vaConfig,
  shape: GroupShape,
  options: Pick<TransientOptions, "rank" | "recompute" | "blocks">,
  copies: Copies,
): number {
  const { language, sam2 } = config;
  const prefix = shape.tiles * config.tokensPerTile;
  const caption = shape.promptTokens - prefix + shape.captionTokens;
  const phrase = shape.phraseTokens;
  const block = [
    blockFloats(config, prefix, prefix, 1, options, copies),
    ...[caption, phrase].map((tokens) => blockFloats(config, tokens, prefix + tokens, 1, options, copies)),
  ].reduce((sum, floats) => sum + BEHIND * floats, 0);
  const logits = copies.taught * caption * language.vocabSize;
  const decoder = copies.decoder * (sam2.imageSize / 4) ** 2 * sam2.hiddenDim;
  if (!options.recompute) return F32 * (language.layers * block + logits + decoder);
  const width = language.hiddenSize + 2 * language.kvHeads * language.headSize;
  return F32 * (copies.recompute * block + logits + decoder + language.layers * (prefix + caption + phrase) * width);
}

/** Likelihood of a caption through a soft mask: no block is recomputed, and every attention keeps its scores. */
function softBytes(
  config: Sa2vaConfig,
  { softTokens, captionTokens }: GroupShape,
  { rank }: Pick<TransientOptions, "rank">,
  copies: Copies,
): number {
  if (softTokens === 0) return 0;
  const { layers, heads, vocabSize } = config.language;
  const block = copies.token * softTokens * tokenFloats(config, rank) + SOFT_SCORES * heads * softTokens ** 2;
  const maps = SOFT_MAPS * Math.max(LEAST_PICTURE, config.tileSize ** 2);
  return F32 * (layers * block + copies.logit * captionTokens * vocabSize + maps);
}

/** Elements per token of a decoder block, each array counted once. */
function tokenFloats({ language }: Pick<Sa2vaConfig, "language">, rank: number): number {
  const { hiddenSize, heads, kvHeads, headSize, mlpSize } = language;
  return 4 * hiddenSize + 2 * heads * headSize + 2 * kvHeads * headSize + 3 * mlpSize + 7 * rank;
}

/**
 * Elements of one differentiated decoder block.
 * @param rows number of rows after a shared prompt; 1 for the prompt itself
 */
function blockFloats(
  config: Sa2vaConfig,
  tokens: number,
  reach: number,
  rows: number,
  { rank, blocks }: Pick<TransientOptions, "rank" | "blocks">,
  copies: Copies,
): number {
  const { heads, kvHeads, headSize } = config.language;
  const perToken = tokenFloats(config, rank);
  const scores = heads * tokens * reach;
  const inBlocks = blocks || F32 * scores > KEPT_SCORE_BYTES;
  const repeated = rows > 1 ? (inBlocks ? copies.blockCache : copies.cache) * rows * reach * 2 * kvHeads * headSize : 0;
  return copies.token * tokens * perToken + (inBlocks ? copies.blockScore : copies.score) * scores + repeated;
}
