/**
 * Both tasks of several regions in one pass: a picture runs once through the towers and once through the language model
 * as the prefix of all its prompts; regions follow it as two right-padded batches. A clip's frames follow one another
 * in its prompts. Its captions, whose regions are between the frames, are separate rows. Every frame is decoded alone
 * with the clip's language prompt.
 */

import { LabError } from "../../engine/errors.ts";
import { repeatRows, zerosBehind } from "../../engine/gpu/kernels/repeat.ts";
import type { Place } from "../../engine/gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { inOrder, nextTo, promptPlaces } from "../../engine/model/language/config-language.ts";
import {
  embedTokens,
  type KvCache,
  languageForward,
  languageLogits,
  normed,
} from "../../engine/model/language/language.ts";
import { BCE_WEIGHT, DICE_WEIGHT, type MaskLoss, maskLoss } from "../../engine/model/mask-loss.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import type { SamFeatures } from "../../engine/model/sam2/hiera.ts";
import { type DecodedMasks, decodeMasks, selectMask } from "../../engine/model/sam2/mask-decoder.ts";
import { languagePrompt } from "../../engine/model/seg-prompt.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { placesOf } from "../../engine/policy/decode/prefill.ts";
import { projectVision } from "../../engine/policy/embedding.ts";
import { tileTokens } from "../../engine/text/prompt.ts";
import { joined, type SftBatch } from "./batch.ts";
import { pointMaskLoss, samplePoints, selectPoints } from "./point-loss.ts";

/** Tower outputs of n pictures, or of n clips of F frames, clip by clip. */
export interface PictureFeatures {
  /** Vision tokens before the projector, [n · tiles · planes, tokens, C]; a frame is one tile. */
  readonly vision: Tensor;
  /** The same with the asked region drawn into the picture; absent where regions are copied tokens. */
  readonly shown?: Tensor;
  /** Batch n, or n · F. */
  readonly sam: SamFeatures;
}

export interface SftSettings {
  readonly tokenWeight: number;
  readonly bceWeight: number;
  readonly diceWeight: number;
  /** Points of the mask losses, [R, P, 2] as (x, y) in 0..1; null for all pixels. */
  readonly points: Tensor | null;
}

export const SFT_DEFAULTS: SftSettings = {
  tokenWeight: 1,
  bceWeight: BCE_WEIGHT,
  diceWeight: DICE_WEIGHT,
  points: null,
};

/** Names of the numbers in `SftLoss.parts`, in order. */
export const PARTS = ["token", "bce", "dice"] as const;

export interface SftLoss {
  /** Scalar. */
  readonly loss: Tensor;
  /** Unweighted parts in the order of their names. */
  readonly parts: Tensor;
}

/** Embeds rows of token ids, all of length T: [rows, T, D]. */
export type Embed = (ids: readonly (readonly number[])[]) => Tensor;

/** What a loss of both tasks is computed from. */
interface SftStates {
  /** Cross-entropy of the answers' tokens, scalar. */
  readonly token: Tensor;
  /** Final states of the prompts' common start, [n, P, D]. */
  readonly prefix: Tensor;
  /** Final states at [SEG], [R, D]. */
  readonly seg: Tensor;
  /** SAM2's language prompts, [R, C]. */
  readonly lang: Tensor;
  /** All candidates of every frame. */
  readonly decoded: Pick<DecodedMasks, "masks" | "iou">;
  /** Target masks, [R · F, side, side]. */
  readonly truth: Tensor;
}

/**
 * Both tasks of a batch on the current tape.
 * @param embed by default rows of the table, which gets no gradient
 * @throws LabError("bad-input") when the checkpoint lacks a tensor
 */
export function sftStates(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  features: PictureFeatures,
  batch: SftBatch,
  embed: Embed = tableRows(model, weights),
): SftStates {
  const { images: n, regions: k, frames, maskSide: side, caption } = batch;
  const { visual, head } = readPictures(model, weights, features.vision, batch, embed);
  const past = repeatCache(head.cache, k);
  const { shown } = features;
  const described = shown === undefined ? head : readPictures(model, weights, shown, batch, embed).head;
  const asked = shown === undefined ? past : repeatCache(described.cache, k);
  const token = tokenLoss(
    captionLogits(model, weights, batch, visual, asked, embed),
    tf.tensor1d(caption.labels.flat(), "int32"),
    tf.tensor1d(caption.labelled.flat()),
  );
  const seg = segStates(model, weights, batch, past, embed);
  const lang = languagePrompt(weights, seg);
  const decoded = decodeMasks(weights, model.config.sam2, features.sam, onFrames(lang, batch));
  const truth = tf.tensor3d(joined(batch.masks), [n * frames * k, side, side]);
  return { token, prefix: normed(weights, model.config.language, head.hidden), seg, lang, decoded, truth };
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
    const { token, decoded, truth } = sftStates(model, weights, features, batch);
    const { bce, dice } = selectedLoss(selectMask(decoded.masks, decoded.iou).mask, truth, settings.points);
    const sum = token.mul(settings.tokenWeight).add(bce.mul(settings.bceWeight)).add(dice.mul(settings.diceWeight));
    return [sum, tf.stack([token, bce, dice])];
  }) as [Tensor, Tensor];
  return { loss, parts };
}

/**
 * Cross-entropy over labelled tokens.
 * @param logits [N, V]
 * @param labels [N] int32
 * @param weights [N], 1 = supervised, 0 = ignored
 * @returns scalar Σ w · (−log p) / Σ w
 */
export function tokenLoss(logits: Tensor, labels: Tensor, weights: Tensor): Tensor {
  return tf.tidy(() => {
    const hot = tf.oneHot(labels.toInt() as tf.Tensor1D, logits.shape[1] as number).toFloat();
    const chosen = tf
      .logSoftmax(logits as tf.Tensor2D)
      .mul(hot)
      .sum(1);
    return chosen.mul(weights).sum().neg().div(weights.sum());
  });
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
    const embed = tableRows(model, weights);
    const { head } = readPictures(model, weights, features.vision, batch, embed);
    const seg = segStates(model, weights, batch, repeatCache(head.cache, batch.regions), embed);
    const lang = onFrames(languagePrompt(weights, seg), batch);
    const { masks, iou } = decodeMasks(weights, model.config.sam2, features.sam, lang);
    return selectMask(masks, iou).mask.reshape([-1, batch.maskSide, batch.maskSide]);
  });
}

/**
 * Projected tokens [n, tokens, W] and the language model's states, before its final norm, and cache of the prompts'
 * common start.
 */
function readPictures(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  vision: Tensor,
  batch: SftBatch,
  embed: Embed,
) {
  const { language } = model.config;
  const projected = projectVision(model, weights, vision);
  const wide = projected.shape[2] as number;
  const visual = projected.reshape([batch.images, -1, wide]);
  const prefix = zerosBehind(embed([batch.prefix]), [0, 0, wide - language.hiddenSize]);
  const spliced = splicePrefix(prefix, visual, batch);
  const places = prefixPlaces(model, batch);
  const head = languageForward(weights, language, spliced, {
    ropeLength: ropeLength(batch),
    norm: false,
    ...(places === undefined ? {} : { positions: [places] }),
  });
  return { visual, head };
}

/** @throws LabError("unsupported") for clips of a model whose visual tokens have rows and columns */
function prefixPlaces({ config }: Pick<Sa2vaModel, "config">, { spans, grid, prefix, frames }: SftBatch) {
  const [imageSpan] = spans as [SftBatch["spans"][number]];
  const places = promptPlaces(config.language, { imageSpan, frameSpans: spans, grid }, prefix.length);
  if (places !== undefined && frames > 1) {
    throw new LabError("unsupported", "Supervised training on clips is not available for this model");
  }
  return places;
}

/** Positions of rows of text that continue the prefix; none where they are the tokens' indices. */
function behindPrefix(model: Pick<Sa2vaModel, "config">, batch: SftBatch, length: number) {
  const places = prefixPlaces(model, batch);
  return places === undefined ? {} : { positions: [inOrder(nextTo(places.at(-1) as Place), length)] };
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

function tableRows(model: Pick<Sa2vaModel, "config">, weights: Weights): Embed {
  return (ids) => {
    const length = ids[0]?.length ?? 0;
    return embedTokens(weights, model.config.language, tf.tensor2d(ids.flat(), [ids.length, length], "int32"));
  };
}

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
  embed: Embed,
): Tensor {
  const { images: n, regions: k, frames, caption } = batch;
  const tokens = frames * tileTokens(model.config, batch.grid);
  const all = visual.shape[1] as number;
  const width = model.config.language.hiddenSize;
  const whole = all === tokens && visual.shape[2] === width;
  const tile = whole ? visual : visual.slice([0, all - tokens, 0], [n, tokens, width]);
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
  const words = embed(caption.ids).mul(tf.tensor3d(text, [n * k, caption.length, 1]));
  const inputs = words.add(copied.reshape([n * k, caption.length, width]));
  const continued = caption.from === 0 ? {} : { past };
  const { hidden } = languageForward(weights, model.config.language, inputs, {
    ...continued,
    keepCache: false,
    ...behindPrefix(model, batch, caption.length),
    ropeLength: ropeLength(batch),
  });
  return languageLogits(weights, hidden.reshape([-1, width]));
}

/** Hidden states at [SEG], after the final norm or before it as the family takes them, [R, D]. */
function segStates(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  batch: SftBatch,
  past: KvCache,
  embed: Embed,
): Tensor {
  const { ids, segAt } = batch.segment;
  const { hidden } = languageForward(weights, model.config.language, embed(ids), {
    past,
    keepCache: false,
    ...behindPrefix(model, batch, batch.segment.length),
    norm: model.config.segAfterNorm,
    ropeLength: ropeLength(batch),
  });
  return placesOf(hidden, segAt);
}

/** Repeats each picture's cache once per region; a single picture's cache is shared unchanged. */
function repeatCache(cache: KvCache, times: number): KvCache {
  if (cache[0]?.k.shape[0] === 1) return cache;
  return cache.map(({ k, v }) => ({ k: repeatRows(k, times), v: repeatRows(v, times) }));
}

// Points at which the mask losses of large masks are computed, drawn as in the published recipe
// (docs/spec/sa2va.md#18-supervised-training-recipe).

/** Uniform candidates per point. */
const OVERSAMPLE = 3;
/** Share of the points taken from the least certain candidates; the rest are uniform. */
const UNCERTAIN = 0.75;

/**
 * Three quarters of the points are the candidates at which the masks are least certain; one quarter is uniform.
 * @param logits [R, h, w]
 * @param points P per mask
 * @param draw uniform number in (0, 1) for (mask, n-th number)
 * @returns [R, P, 2] as (x, y) in 0..1, owned by the caller
 */
export async function drawPoints(
  logits: Tensor,
  points: number,
  draw: (mask: number, n: number) => number,
): Promise<Tensor> {
  const masks = logits.shape[0] as number;
  const [candidates, certain] = [OVERSAMPLE * points, Math.round(UNCERTAIN * points)];
  const coordinates = (count: number, from: number): Tensor => {
    const values = new Float32Array(masks * count * 2);
    for (let mask = 0; mask < masks; mask++) {
      for (let n = 0; n < count * 2; n++) values[mask * count * 2 + n] = draw(mask, from + n);
    }
    return tf.tensor3d(values, [masks, count, 2]);
  };
  const spread = coordinates(candidates, 0);
  const anywhere = coordinates(points - certain, 2 * candidates);
  const chosen = await selectPoints(logits, spread, certain, anywhere);
  tf.dispose([spread, anywhere]);
  return chosen;
}
