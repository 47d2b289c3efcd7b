/**
 * Both tasks of several regions in one pass: a picture runs once through the towers and once through the language model
 * as the prefix of all its prompts; regions follow it as two right-padded batches. A clip's frames follow one another
 * in its prompts. Its captions, whose regions are between the frames, are separate rows. Every frame is decoded alone
 * with the clip's language prompt.
 */
import { repeatRows } from "../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { embedTokens, type KvCache, languageForward, languageLogits } from "../model/language/language.ts";
import { type MaskLoss, maskLoss, pointMaskLoss, samplePoints } from "../model/mask-loss.ts";
import { projectVisual } from "../model/projector.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { decodeMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import type { SamFeatures } from "../model/sam2/neck.ts";
import { densePositions } from "../model/sam2/prompt-encoder.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights/weights.ts";
import { placesOf } from "../policy/decode/shared-prompts.ts";
import { joined, type SftBatch } from "./batch.ts";
import { BCE_WEIGHT, candidateLoss, DICE_WEIGHT, namingLoss, pointingLoss, tokenLoss } from "./losses.ts";

/** Tower outputs of n pictures, or of n clips of F frames, clip by clip. */
export interface PictureFeatures {
  /** Pixel-shuffled vision tokens, [n · tiles, tokens, 4H]; a frame is one tile. */
  readonly vision: Tensor;
  /** Batch n, or n · F. */
  readonly sam: SamFeatures;
}

export interface SftSettings {
  readonly tokenWeight: number;
  readonly bceWeight: number;
  readonly diceWeight: number;
  /** Points of the mask losses of the selected candidate, [R, P, 2] as (x, y) in 0..1; null for all pixels. */
  readonly points: Tensor | null;
  /** Weight of each candidate that is not the best; null trains the selected candidate alone, as published. */
  readonly candidateShare: number | null;
  /** Weight of the IoU head's squared error; only with `candidateShare`. */
  readonly iouWeight: number;
  readonly pointingWeight: number;
  /** Weight of the naming loss, for batches that carry its targets. */
  readonly namingWeight: number;
  /** Weight of the mean square of SAM2's stride-16 features, for training towers: see docs/pocket-model.md. */
  readonly featureWeight: number;
  /**
   * Whether the embedding table gets a gradient, through a matrix product that is affordable for small vocabularies
   * only.
   */
  readonly trainEmbedding: boolean;
}

/** The published recipe. */
export const SFT_DEFAULTS: SftSettings = {
  tokenWeight: 1,
  bceWeight: BCE_WEIGHT,
  diceWeight: DICE_WEIGHT,
  points: null,
  candidateShare: null,
  iouWeight: 0,
  pointingWeight: 0,
  namingWeight: 0,
  featureWeight: 0,
  trainEmbedding: false,
};

/** Names of the numbers in `SftLoss.parts`, in order. */
export const PARTS = ["token", "bce", "dice", "iouError", "pointing", "naming", "promptPointing"] as const;

export interface SftLoss {
  /** Scalar. */
  readonly loss: Tensor;
  /** Unweighted parts, [7] in the order of `PARTS`; 0 where a part is switched off. */
  readonly parts: Tensor;
}

/**
 * The weighted loss of a batch; differentiable in all trainable tensors of `weights`.
 * @throws LabError("bad-input") when the checkpoint lacks a tensor
 */
export function sftLoss(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  features: PictureFeatures,
  batch: SftBatch,
  settings: SftSettings,
): SftLoss {
  const [loss, parts] = tf.tidy(() => {
    const { images: n, regions: k, frames } = batch;
    const { language, tokensPerTile } = model.config;
    const width = language.hiddenSize;
    const { visual, head } = readPictures(model, weights, features, batch, settings);
    const past = repeatCache(head.cache, k);

    const logits = captionLogits(model, weights, batch, visual, past, settings);
    const token = tokenLoss(
      logits,
      tf.tensor1d(batch.caption.labels.flat(), "int32"),
      tf.tensor1d(batch.caption.labelled.flat()),
    );

    const seg = segStates(model, weights, batch, past, settings);
    const lang = languagePrompt(weights, seg);
    const decoded = decodeMasks(weights, model.config.sam2, features.sam, onFrames(lang, batch));
    const side = batch.maskSide;
    const truth = tf.tensor3d(joined(batch.masks), [n * frames * k, side, side]);
    const tokens = seenTokens(head.hidden, batch, tokensPerTile);
    const mask =
      settings.candidateShare === null
        ? { ...selectedLoss(selectMask(decoded.masks, decoded.iou).mask, truth, settings.points), iou: tf.scalar(0) }
        : candidateLoss(decoded.masks, decoded.iou, truth, settings.candidateShare);
    const pointing =
      settings.pointingWeight === 0
        ? tf.scalar(0)
        : pointingLoss(
            seg.reshape([n, k, width]),
            tokens,
            tf.tensor3d(joined(batch.cells), [n, k, frames * tokensPerTile]),
          );
    const naming = namingTerm(weights, batch, tokens, seg, settings);
    const promptPointing = promptTerm(weights, batch, features.sam.f16, lang, settings);
    const terms = [
      token.mul(settings.tokenWeight),
      mask.bce.mul(settings.bceWeight),
      mask.dice.mul(settings.diceWeight),
      mask.iou.mul(settings.iouWeight),
      pointing.mul(settings.pointingWeight),
      naming.mul(settings.namingWeight),
      promptPointing.mul(settings.pointingWeight),
    ];
    if (settings.featureWeight > 0) terms.push(features.sam.f16.square().mean().mul(settings.featureWeight));
    const sum = terms.reduce((total, term) => total.add(term));
    return [sum, tf.stack([token, mask.bce, mask.dice, mask.iou, pointing, naming, promptPointing])];
  }) as [Tensor, Tensor];
  return { loss, parts };
}

/**
 * Logits of the selected masks without a tape, [R · F, side, side], for choosing points. Owned by the caller.
 * @throws LabError("bad-input") when the checkpoint lacks a tensor
 */
export function selectedMasks(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  features: PictureFeatures,
  batch: SftBatch,
): Tensor {
  return tf.tidy(() => {
    const { head } = readPictures(model, weights, features, batch, SFT_DEFAULTS);
    const seg = segStates(model, weights, batch, repeatCache(head.cache, batch.regions), SFT_DEFAULTS);
    const lang = onFrames(languagePrompt(weights, seg), batch);
    const { masks, iou } = decodeMasks(weights, model.config.sam2, features.sam, lang);
    return selectMask(masks, iou).mask.reshape([-1, batch.maskSide, batch.maskSide]);
  });
}

/** Projected tokens [n, tokens, D] and the language model's states and cache of the prompts' common start. */
function readPictures(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  features: PictureFeatures,
  batch: SftBatch,
  settings: SftSettings,
) {
  const { language } = model.config;
  const visual = projectVisual(weights, features.vision).reshape([batch.images, -1, language.hiddenSize]);
  const prefix = embed(model, weights, [batch.prefix], settings);
  const spliced = splicePrefix(prefix, visual, batch);
  return { visual, head: languageForward(weights, language, spliced, { ropeLength: ropeLength(batch) }) };
}

/** Rotary scaling depends on the longest padded row of a batch, as in the published code. */
function ropeLength({ prefix, caption, segment }: SftBatch): number {
  return Math.max(caption.from + caption.length, prefix.length + segment.length);
}

/** Repeats a clip's language prompts for every frame: [R, C] → [R · F, C] in the order of the masks. */
function onFrames(lang: Tensor, { images, frames, regions }: SftBatch): Tensor {
  if (frames === 1) return lang;
  const own = lang.reshape([images, 1, regions, -1]);
  return tf.tile(own, [1, frames, 1, 1]).reshape([images * frames * regions, -1]);
}

function selectedLoss(logits: Tensor, truth: Tensor, points: Tensor | null): MaskLoss {
  const side = truth.shape[1] as number;
  const maps = logits.reshape([-1, side, side]);
  if (points === null) return maskLoss(maps, truth);
  return pointMaskLoss(samplePoints(maps, points), samplePoints(truth, points));
}

/**
 * Pointing loss of the language prompt over the decoder's keys: SAM2's cells with their positions. The keys are
 * normalised; otherwise they would outgrow the prompts and the decoder would ignore these.
 */
function promptTerm(w: Weights, batch: SftBatch, f16: Tensor, lang: Tensor, settings: SftSettings): Tensor {
  if (settings.pointingWeight === 0) return tf.scalar(0);
  const [n, height, width, channels] = f16.shape as [number, number, number, number];
  const keys = f16.reshape([n, height * width, channels]).add(densePositions(w, height, width));
  const directions = keys.div(keys.square().mean(-1, true).add(1e-6).sqrt());
  const cells = (n / batch.images) * height * width;
  const share = tf.tensor3d(joined(batch.samCells), [batch.images, batch.regions, cells]);
  const seen = directions.reshape([batch.images, cells, channels]);
  return pointingLoss(lang.reshape([batch.images, batch.regions, channels]), seen, share);
}

/** The head reads final states of picture tokens (the object at the token) and of [SEG] (the requested object). */
function namingTerm(w: Weights, batch: SftBatch, visual: Tensor, seg: Tensor, settings: SftSettings): Tensor {
  if (settings.namingWeight === 0 || batch.naming === null) return tf.scalar(0);
  const { cells, seg: asked } = batch.naming;
  const named = (states: Tensor, target: Float32Array): Tensor => {
    const rows = states.reshape([-1, states.shape[states.rank - 1] as number]);
    return namingLoss(
      languageLogits(w, rows),
      tf.tensor2d(target, [rows.shape[0] as number, target.length / (rows.shape[0] as number)]),
    );
  };
  return named(visual, cells).add(named(seg, asked));
}

/** Rows of the table: a gather or, if the table trains, a product with rows of the identity. [rows, T, D] */
function embed(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  ids: readonly (readonly number[])[],
  settings: SftSettings,
): Tensor {
  return tf.tidy(() => {
    const length = ids[0]?.length ?? 0;
    if (!settings.trainEmbedding) {
      return embedTokens(weights, model.config.language, tf.tensor2d(ids.flat(), [ids.length, length], "int32"));
    }
    const table = weights.get(EMBEDDING) as tf.Tensor2D;
    const hot = tf.oneHot(tf.tensor1d(ids.flat(), "int32"), table.shape[0]).toFloat() as tf.Tensor2D;
    return tf.matMul(hot, table).reshape([ids.length, length, table.shape[1]]);
  });
}

const EMBEDDING = "language_model.model.embed_tokens.weight";

/** The shared prefix with the tokens of each picture, or of its frames, inserted: [n, P, D]. */
function splicePrefix(text: Tensor, visual: Tensor, batch: SftBatch): Tensor {
  const width = text.shape[2] as number;
  const cut = (from: number, to: number): Tensor =>
    tf.tile(text.slice([0, from, 0], [1, to - from, width]), [batch.images, 1, 1]);
  let [words, tokens] = [0, 0];
  const parts = batch.spans.flatMap(({ start, end }) => {
    const own = visual.slice([0, tokens, 0], [batch.images, end - start, width]);
    const before = cut(words, start);
    words = end;
    tokens += end - start;
    return [before, own];
  });
  return tf.concat([...parts, cut(words, batch.prefix.length)], 1);
}

/** Logits at all positions of the caption rows, [R · length, V]. */
function captionLogits(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  batch: SftBatch,
  visual: Tensor,
  past: KvCache,
  settings: SftSettings,
): Tensor {
  const { images: n, regions: k, frames, caption } = batch;
  const tokens = frames * model.config.tokensPerTile;
  const [, all, width] = visual.shape as [number, number, number];
  const tile = all === tokens ? visual : visual.slice([0, all - tokens, 0], [n, tokens, width]);
  const pick = new Float32Array(n * k * caption.length * tokens);
  const text = new Float32Array(n * k * caption.length);
  caption.copies.forEach((copies, row) => {
    copies.forEach((cell, at) => {
      const place = row * caption.length + at;
      if (cell < 0) text[place] = 1;
      else pick[place * tokens + cell] = 1;
    });
  });
  const copied = tf.matMul(tf.tensor3d(pick, [n, k * caption.length, tokens]), tile);
  const words = embed(model, weights, caption.ids, settings).mul(tf.tensor3d(text, [n * k, caption.length, 1]));
  const inputs = words.add(copied.reshape([n * k, caption.length, width]));
  const continued = caption.from === 0 ? {} : { past };
  const { hidden } = languageForward(weights, model.config.language, inputs, {
    ...continued,
    ropeLength: ropeLength(batch),
  });
  return languageLogits(weights, hidden.reshape([-1, width]));
}

/** Final hidden states at [SEG], [R, D]. */
function segStates(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  batch: SftBatch,
  past: KvCache,
  settings: SftSettings,
): Tensor {
  const { ids, segAt } = batch.segment;
  const { hidden } = languageForward(weights, model.config.language, embed(model, weights, ids, settings), {
    past,
    ropeLength: ropeLength(batch),
  });
  return placesOf(hidden, segAt);
}

/** States of the last tile's tokens, or of those of all frames: [n, F · tokens, D]. */
function seenTokens(hidden: Tensor, batch: SftBatch, tokens: number): Tensor {
  const [n, , width] = hidden.shape as [number, number, number];
  const parts = batch.spans.map(({ end }) => hidden.slice([0, end - tokens, 0], [n, tokens, width]));
  return parts.length === 1 ? (parts[0] as Tensor) : tf.concat(parts, 1);
}

/** Repeats each picture's cache once per region; a single picture's cache is shared unchanged. */
function repeatCache(cache: KvCache, times: number): KvCache {
  if (cache[0]?.k.shape[0] === 1) return cache;
  return cache.map(({ k, v }) => ({ k: repeatRows(k, times), v: repeatRows(v, times) }));
}
