/**
 * Memory that a step takes besides what is always held: features of pictures, keys and values, activations. All follow
 * from sizes and from numbers of arrays, which were counted by size at the peaks of small models
 * (tests/gpu/forecast.test.ts compares) and of Sa2VA-1B (`npm run step-1b`).
 */
import { BUILT_IN } from "../gpu/forms/built-in.ts";
import { LOGIT_BYTES } from "../gpu/memory-sizes.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";
import { languageFamily, languageLinears } from "../model/language/language-families.ts";

const F32 = 4;

// A tape frees what an operation saved, and the gradients of its outputs, after its own gradient. What it frees the GPU
// may still use, and serves only arrays of the same size, so the parts of one tape add up: counts are the most arrays of
// a size at a time.

/** Arrays per token that a decoder block keeps for its gradient, by their width; `joined` are queries, keys and values in one, or gate and hidden units. */
const BLOCK = { hidden: 4, heads: 4, keys: 3, mlp: 3, joined: 1, rank: 1, headNorms: 1 };
/** Arrays that the gradient of a block adds; those of `heads` where these are not as wide as the residual stream. */
const GRADIENT = { hidden: 5, heads: 3, keys: 2, mlp: 3, joined: 1, rank: 0, headNorms: 0 };
/** What the last block of a prompt keeps, of which only keys and values are used. */
const LAST = { hidden: 1, heads: 2, keys: 1, mlp: 0, joined: 0, rank: 1, headNorms: 1 };
/** Arrays of a pass without a gradient, which frees them at the end of the block. */
const BARE_BLOCK = { hidden: 5, heads: 5, keys: 5, mlp: 3, joined: 1, rank: 1, headNorms: 1 };
/** Numbers that a norm keeps of each row for its gradient. */
const NORM_STATISTICS = 2;
/** Keys and values of a block, or their gradients. */
const CACHE = 2;
/** Embeddings of a prompt, whose last token is split off. */
const EMBEDDINGS = 4;
/**
 * Arrays where the first layers add visual tokens to the stream: per layer that adds the widened text, the spliced
 * embeddings, their split and the sum, and the prefix of a prompt whose last token is split off; once those of the stream
 * in the widened text and in the split.
 */
const ADDED = { asked: 4, shared: 5, once: 2 };
/** Keys and values of a group's prompt, repeated for its rollouts, and those followed by the rollout's own: of every block, and once. */
const REPEATED = { prompt: 2, whole: 2 };
const REPEATED_ONCE = { prompt: 1, whole: 2 };
/** Score arrays that a block keeps where attention stores its scores, and those that its gradient adds for a while. */
const SCORES = { kept: 1, passing: 2 };
/** Score arrays of a run of queries where attention works in runs: those of a pass, and those of its gradient. */
const RUN_SCORES = { forward: 1, gradient: 2 };
/** Logits and their gradient. */
const LOGITS = 2;
/** Logits at every token of a supervised caption and its question, and what a cross-entropy of stock operations keeps. */
const TAUGHT_LOGITS = 7;
/** Maps of the mask decoder by their share of its finest grid times its width. */
const DECODER = [
  { share: 1 / 8, maps: 7 },
  { share: 1 / 16, maps: 25 },
  { share: 1 / 32, maps: 20 },
];
/** Masks that the decoder proposes for a frame, and the arrays of this size that a policy's loss keeps. */
const CANDIDATES = { masks: 3, arrays: 25 };
/** Maps of a decoded prompt without a gradient, by the same share; the last two repeat the maps of several pictures. */
const FOUND = { maps: 2 / 8 + 16 / 16 + 4 / 32, repeated: 1 / 8 + 1 / 16 };
/** Arrays of a prompt's masks at the decoder's resolution: all four, the candidates, the best; and of one at SAM2's. */
const FOUND_MASKS = { low: 4 + 3 + 1, full: 16 };
/** Tokens of a prompt in the decoder, which attend to the cells of the coarsest map. */
const PROMPT_TOKENS = 9;
/** Arrays of SAM2's image encoder in units of its first stage. */
const SAM_STAGES = 11.2;

/** Bytes in every step: uniforms, timestamps, and tensors too small to count one by one. */
const BESIDE = 2 ** 18;
/** Minimum pixels assumed for a picture, because a plan does not know its size. */
const LEAST_PICTURE = 2 ** 16;
/** Bytes per pixel of a mask, whose bits exist three times: in words, joined with other masks, and read back. */
const MASK_BYTES = (3 * F32) / 16;

/** Score arrays of an attention that differentiates with respect to its mask. */
const SOFT_SCORES = { kept: 4, passing: 3 };
/** Arrays of what the mask hides from each token: of every block, and once. */
const HIDDEN_CELLS = { kept: 2, passing: 1 };
/** Arrays at a picture's size while its soft mask is made and differentiated. */
const SOFT_MAPS = 5;

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
  const tile = visionFamily(config).sizes(config);
  // The tokens of a picture exist twice if a region is drawn into it.
  const twice = shape.drawn > 0 ? F32 * shape.tiles * tile.features : 0;
  const picture = featureBytes(config, shape.tiles, shape.frames) + twice;
  // All pictures of a loop are on the GPU while its groups are sampled.
  const features = shape.groups * picture;
  const { groups, promptTokens, tailTokens, described } = shape;
  const sampled = options.captions ? cacheBytes(config, groups, promptTokens, shape.rollouts, shape.newTokens) : 0;
  const answers = tailTokens + shape.answerTokens;
  const told = options.masks ? cacheBytes(config, groups, promptTokens - tailTokens, described, answers) : 0;
  const cache = Math.max(sampled, told);
  const { tileSize } = config;
  const towers = towerBytes(config);
  const rows = options.microRollouts > 0 ? Math.min(options.microRollouts, shape.rollouts) : shape.rollouts;
  const atOnce = options.microRollouts > 0 ? 1 : Math.min(options.groupsAtOnce || shape.groups, shape.groups);
  const captions = options.captions ? captionBytes(config, shape, rows, options, atOnce) : 0;
  const asked = shape.tiles * config.tokensPerTile + shape.phraseTokens;
  const asking = { ...shape, promptTokens: asked };
  // The maps of several pictures are joined for the decoder.
  const joined = atOnce > 1 ? featureBytes(config, 0, shape.frames) : 0;
  const masks = options.masks
    ? maskBytes(config, asking, options, atOnce) + atOnce * (softBytes(config, shape, options) + joined)
    : 0;
  const activations = options.supervised ? taughtBytes(config, shape, options) : Math.max(captions, masks);
  const together = Math.min(options.groupsAtOnce || groups, groups);
  const each = options.captions ? shape.rollouts : options.masks ? 1 : 0;
  const decoded = Math.max(
    foundBytes(config, shape.frames, together, each),
    foundBytes(config, shape.frames, 1, options.masks ? shape.tried : 0),
  );
  const masksRead =
    Math.max(options.captions ? shape.rollouts : 0, options.masks ? described : 0) * groups * shape.frames;
  const bits = MASK_BYTES * Math.max(LEAST_PICTURE, tileSize ** 2) * masksRead;
  const prompts = F32 * together * promptFloats(config, shape, options);
  const answering = Math.max(cache + prompts, decoded);
  const encoding = encodingBytes(config, shape);
  if (options.supervised) {
    const sampling = BESIDE + encoding;
    return {
      features: picture,
      cache: 0,
      activations,
      towers,
      answering: 0,
      sampling,
      learning: BESIDE + picture + activations,
    };
  }
  // Every described region is drawn and encoded again, and its prompt is kept until all are there; the GPU may still
  // project the picture before.
  const prompted = F32 * shape.tiles * (groups * shape.drawn * tile.projected + tile.projection);
  const drawing = options.masks && shape.drawn > 0 ? features + F32 * tile.tower + prompted : 0;
  return {
    features,
    cache,
    activations,
    towers,
    answering,
    // The features of the picture in the towers are created last.
    sampling: BESIDE + Math.max(features - picture + encoding, drawing, features + answering + bits),
    learning: BESIDE + atOnce * picture + activations,
  };
}

/** The frozen towers over a tile, which run one after the other. */
function towerBytes(config: Sa2vaConfig): number {
  const stage = F32 * (config.sam2.imageSize / 4) ** 2 * config.sam2.embedDim;
  return Math.max(SAM_STAGES * stage, F32 * visionFamily(config).sizes(config).tower);
}

/**
 * The features of a picture or clip while they are made. A clip's frames are encoded one after the other and joined map
 * by map; where regions are drawn, the vision tower then runs over each frame again.
 */
function encodingBytes(config: Sa2vaConfig, { tiles, frames, drawn }: GroupShape): number {
  const own = featureBytes(config, tiles, frames);
  const before = (frames - 1) / frames;
  const encoded = before * own + towerBytes(config);
  const finest = F32 * frames * (config.sam2.imageSize / 4) ** 2 * config.sam2.hiddenDim;
  const joined = frames > 1 ? own + finest : 0;
  if (drawn === 0) return Math.max(encoded, joined);
  const shown = featureBytes(config, tiles, 0);
  const { tower } = visionFamily(config).sizes(config);
  const redrawn = Math.max(before * shown + F32 * tower, (1 + before) * shown);
  return Math.max(encoded, joined, own + redrawn);
}

/** The largest pass of a group's prompts without a gradient: the shared part, or the tails of the masks it describes. */
function promptFloats(config: Sa2vaConfig, shape: GroupShape, options: TransientOptions): number {
  const { described, promptTokens, tailTokens } = shape;
  const shared = promptTokens * tokenFloats(config, options.rank, BARE_BLOCK);
  if (!options.masks) return shared;
  const rows = described * tailTokens;
  const repeated = 2 * described * promptTokens * config.language.kvHeads * config.language.headSize;
  const { kept, forward } = scoreFloats(config, { rows: described, tokens: rows, reach: promptTokens }, options);
  return Math.max(shared, rows * tokenFloats(config, options.rank, BARE_BLOCK) + repeated + kept + forward);
}

type PassOptions = Pick<TransientOptions, "rank" | "recompute" | "blocks">;

/** Backward pass over the captions of groups on one tape: each prompt once, the rollouts after it, and the scores of their tokens. */
export function captionBytes(
  config: Sa2vaConfig,
  shape: Pick<GroupShape, "tiles" | "promptTokens" | "newTokens">,
  rows: number,
  options: PassOptions,
  groups = 1,
): number {
  const { layers, kvHeads, headSize, vocabSize } = config.language;
  const { tiles, promptTokens, newTokens } = shape;
  const tokens = groups * rows * newTokens;
  const cached = kvHeads * headSize * groups * rows;
  const projection = groups * tiles * visionFamily(config).sizes(config).projection;
  const prompt = promptPassFloats(config, promptTokens, options, groups);
  const tails = passFloats(config, { rows: groups * rows, tokens, reach: promptTokens + newTokens }, options);
  const each = options.recompute ? 1 : layers;
  const caches =
    cached * (each * REPEATED.prompt + REPEATED_ONCE.prompt) * promptTokens +
    cached * (each * REPEATED.whole + REPEATED_ONCE.whole) * (promptTokens + newTokens);
  const logits = LOGITS * Math.min(tokens * vocabSize, LOGIT_BYTES / F32);
  return F32 * (projection + prompt + tails + caches + logits);
}

/** Backward pass of one phrase of each group on one tape: the language model over the prompts, then the mask decoder. */
export function maskBytes(
  config: Sa2vaConfig,
  { tiles, frames, promptTokens }: Pick<GroupShape, "tiles" | "frames" | "promptTokens">,
  options: PassOptions,
  groups = 1,
): number {
  const tokens = groups * promptTokens;
  const projection = groups * tiles * visionFamily(config).sizes(config).projection;
  const prompt = passFloats(config, { rows: groups, tokens, reach: promptTokens }, options);
  const added = addedFloats(config, tokens, ADDED.asked);
  return F32 * (projection + prompt + added + groups * decoderFloats(config, frames));
}

/**
 * Both tasks of one row on one tape, also where one of them has no weight: the picture, and behind it the question with
 * the caption and the question with the phrase, then the logits of the former and the mask decoder.
 */
function taughtBytes(config: Sa2vaConfig, shape: GroupShape, options: PassOptions): number {
  const { vocabSize } = config.language;
  const prefix = shape.tiles * config.tokensPerTile;
  const caption = shape.promptTokens - prefix + shape.captionTokens;
  // The question for a caption sees the picture with the region drawn into it, the one for a mask without.
  const pictures = shape.drawn > 0 ? 2 : 1;
  const passes = [
    pictures * promptPassFloats(config, prefix, options),
    ...[caption, shape.phraseTokens].map((tokens) =>
      passFloats(config, { rows: 1, tokens, reach: prefix + tokens }, options),
    ),
  ].reduce((sum, floats) => sum + floats, 0);
  const logits = TAUGHT_LOGITS * caption * vocabSize;
  const projected = pictures * shape.tiles * visionFamily(config).sizes(config).projection;
  return F32 * (projected + passes + logits + decoderFloats(config, 1));
}

/** Likelihood of a caption through a soft mask: no block is recomputed, and every attention keeps its scores. */
function softBytes(
  config: Sa2vaConfig,
  { softTokens, captionTokens }: GroupShape,
  { rank }: Pick<TransientOptions, "rank">,
): number {
  if (softTokens === 0) return 0;
  const { layers, heads, vocabSize } = config.language;
  const scores = (which: "kept" | "passing"): number =>
    (SOFT_SCORES[which] * heads + HIDDEN_CELLS[which]) * softTokens ** 2;
  const block = softTokens * tokenFloats(config, rank, BLOCK) + scores("kept");
  const gradient = softTokens * tokenFloats(config, rank, GRADIENT) + scores("passing");
  const maps = SOFT_MAPS * Math.max(LEAST_PICTURE, config.tileSize ** 2);
  return F32 * (layers * block + gradient + LOGITS * captionTokens * vocabSize + maps);
}

/** Elements of the arrays of the mask decoder and of the loss of its masks on a tape. */
function decoderFloats({ sam2 }: Sa2vaConfig, frames: number): number {
  const cells = frames * (sam2.imageSize / 4) ** 2;
  const maps = DECODER.reduce((sum, { share, maps }) => sum + share * maps, 0);
  return cells * (maps * sam2.hiddenDim + CANDIDATES.masks * CANDIDATES.arrays);
}

/** Masks of several pictures' prompts, decoded together without a gradient. @param each prompts of a picture */
function foundBytes(config: Sa2vaConfig, frames: number, pictures: number, each: number): number {
  const { imageSize, hiddenDim, decoderNumHeads } = config.sam2;
  const cells = frames * (imageSize / 4) ** 2;
  const joined = pictures > 1 && each > 0 ? pictures * featureBytes(config, 0, frames) : 0;
  const maps = hiddenDim * (FOUND.maps + (pictures > 1 ? FOUND.repeated : 0));
  const prompt = maps + FOUND_MASKS.low + (decoderNumHeads * PROMPT_TOKENS) / 16;
  return joined + F32 * cells * each * (pictures * prompt + FOUND_MASKS.full);
}

/** Elements per token of arrays of a decoder block. */
function tokenFloats({ language }: Pick<Sa2vaConfig, "language">, rank: number, counts: typeof BLOCK): number {
  const { hiddenSize, heads, kvHeads, headSize, mlpSize, layers } = language;
  const normed =
    languageFamily(language).headNorms === undefined ? 0 : (heads + kvHeads) * (headSize + NORM_STATISTICS);
  const linears = languageLinears(language);
  // Some families compute queries, keys and values together, or the hidden units with their gate.
  const together = [(heads + 2 * kvHeads) * headSize, 2 * mlpSize].filter((size) =>
    linears.some(({ outSize }) => outSize === size),
  );
  // Arrays of equal size serve each other.
  const equal = counts === GRADIENT && heads * headSize === hiddenSize;
  return (
    counts.hidden * hiddenSize +
    (equal ? 0 : counts.heads) * heads * headSize +
    counts.keys * kvHeads * headSize +
    counts.mlp * mlpSize +
    counts.joined * together.reduce((sum, size) => sum + size, 0) +
    counts.rank * (linears.length / layers) * rank +
    counts.headNorms * normed
  );
}

/** A pass: sequences, their tokens together, and the keys that the last token of each sees. */
interface Pass {
  readonly rows: number;
  readonly tokens: number;
  readonly reach: number;
}

/** Scores of the largest run of queries, each of which sees the keys before it (gpu/kernels/attention/attention-runs.ts). */
function runFloats(heads: number, queries: number, keys: number, most: number): number {
  const step = Math.max(8, 8 * Math.floor(most / (heads * keys) / 8));
  if (queries <= step) return heads * queries * keys;
  const whole = queries - (queries % step);
  return heads * Math.max(step * (keys - queries + whole), (queries - whole) * keys);
}

/** Elements of the scores that attention holds: kept for its gradient, and for a while in a pass and in a gradient. */
function scoreFloats(
  { language }: Pick<Sa2vaConfig, "language">,
  { rows, tokens, reach }: Pass,
  { blocks }: Pick<TransientOptions, "blocks">,
): { readonly kept: number; readonly forward: number; readonly gradient: number } {
  const { heads, kvHeads, headSize } = language;
  const { attention, runBytes } = BUILT_IN[blocks ? "software" : "integrated"];
  const scores = heads * tokens * reach;
  const form = attention({
    ...{ heads: rows * heads, group: heads / kvHeads, queries: tokens / rows, keys: reach },
    ...{ width: headSize, valueWidth: headSize, causal: true },
  });
  // Stock operations store the scores of heads that no kernel suits.
  if (form === "scores" || headSize % 4 !== 0)
    return { kept: SCORES.kept * scores, forward: 0, gradient: SCORES.passing * scores };
  const run = runFloats(heads * rows, tokens / rows, reach, runBytes / F32);
  if (form === "narrow") {
    // The gradient of all scores if they fit a run, else the gradient works in runs.
    return { kept: 0, forward: 0, gradient: scores === run ? scores : RUN_SCORES.gradient * run };
  }
  if (form !== "runs") return { kept: 0, forward: 0, gradient: 0 };
  return { kept: 0, forward: RUN_SCORES.forward * run, gradient: RUN_SCORES.gradient * run };
}

/** Elements of a pass on a tape. */
function passFloats(config: Sa2vaConfig, pass: Pass, options: PassOptions): number {
  const { tokens } = pass;
  const { layers, hiddenSize } = config.language;
  const { kept, passing } = blockFloats(config, pass, options);
  return passing + (options.recompute ? kept + (layers - 1) * tokens * hiddenSize : layers * kept);
}

/** The same of prompts of which only keys and values are used. @param length of each */
function promptPassFloats(config: Sa2vaConfig, length: number, options: PassOptions, rows = 1): number {
  const { layers, hiddenSize, kvHeads, headSize } = config.language;
  const tokens = rows * length;
  const { kept, passing } = blockFloats(config, { rows, tokens, reach: length }, options);
  const blocks = options.recompute
    ? kept + (layers - 2) * tokens * hiddenSize
    : (layers - 1) * kept + tokens * tokenFloats(config, options.rank, LAST);
  const added = addedFloats(config, tokens, ADDED.shared);
  return passing + blocks + tokens * (CACHE * layers * kvHeads * headSize + EMBEDDINGS * hiddenSize) + added;
}

/** What a prompt takes where the first layers add visual tokens, besides the arrays of other prompts. */
function addedFloats(config: Sa2vaConfig, tokens: number, each: number): number {
  const { hiddenSize } = config.language;
  const layers = visionFamily(config).sizes(config).projected / (config.tokensPerTile * hiddenSize) - 1;
  return layers === 0 ? 0 : tokens * hiddenSize * (layers * each + ADDED.once);
}

/** Elements that a block keeps for its gradient, and those that a gradient adds for a while. */
function blockFloats(config: Sa2vaConfig, pass: Pass, options: PassOptions) {
  const scores = scoreFloats(config, pass, options);
  return {
    kept: pass.tokens * tokenFloats(config, options.rank, BLOCK) + scores.kept,
    passing: pass.tokens * tokenFloats(config, options.rank, GRADIENT) + scores.gradient,
  };
}
