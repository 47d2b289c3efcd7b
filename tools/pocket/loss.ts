/** The loss from which the pocket model learns: the published one and what a start from scratch needs (docs/pocket-model.md). */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { languageLogits } from "../../src/engine/model/language/language.ts";
import { BCE_WEIGHT } from "../../src/engine/model/mask-loss.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { densePositions } from "../../src/engine/model/sam2/prompt-encoder.ts";
import type { Weights } from "../../src/engine/model/weights/weights.ts";
import { joined } from "../../src/plugins/supervised/batch.ts";
import { type Embed, type PictureFeatures, type SftLoss, sftStates } from "../../src/plugins/supervised/forward.ts";
import type { PocketBatch } from "./batch.ts";
import { candidateLoss, namingLoss, pointingLoss } from "./losses.ts";

export interface PocketSettings {
  readonly tokenWeight: number;
  readonly bceWeight: number;
  readonly diceWeight: number;
  /** Weight of each candidate that is not the best. */
  readonly candidateShare: number;
  /** Weight of the IoU head's squared error. */
  readonly iouWeight: number;
  readonly pointingWeight: number;
  /** Weight of the naming loss, for batches that carry its targets. */
  readonly namingWeight: number;
  /** Weight of the mean square of SAM2's stride-16 features, for training towers. */
  readonly featureWeight: number;
  /** Whether the embedding table gets a gradient, through a matrix product that is affordable for small vocabularies only. */
  readonly trainEmbedding: boolean;
}

export const POCKET_LOSS: PocketSettings = {
  tokenWeight: 1,
  bceWeight: BCE_WEIGHT,
  diceWeight: 1,
  candidateShare: 0.1,
  iouWeight: 0.5,
  pointingWeight: 1,
  namingWeight: 2,
  featureWeight: 1e-3,
  trainEmbedding: true,
};

/** Names of the numbers in `parts`, in order; a part that is switched off is 0. */
export const PARTS = ["token", "bce", "dice", "iouError", "pointing", "naming", "promptPointing"] as const;

/**
 * The weighted loss of a batch; differentiable in all trainable tensors of `weights`.
 * @throws LabError("bad-input") when the model lacks a tensor
 */
export function pocketLoss(
  model: Pick<Sa2vaModel, "config">,
  weights: Weights,
  features: PictureFeatures,
  batch: PocketBatch,
  settings: PocketSettings,
): SftLoss {
  const [loss, parts] = tf.tidy(() => {
    const { images: n, regions: k, frames } = batch;
    const { language, tokensPerTile } = model.config;
    const embed = settings.trainEmbedding ? tableProduct(weights) : undefined;
    const { token, prefix, seg, lang, decoded, truth } = sftStates(model, weights, features, batch, embed);
    const tokens = seenTokens(prefix, batch, tokensPerTile);
    const mask = candidateLoss(decoded.masks, decoded.iou, truth, settings.candidateShare);
    const pointing =
      settings.pointingWeight === 0
        ? tf.scalar(0)
        : pointingLoss(
            seg.reshape([n, k, language.hiddenSize]),
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

/** Rows of the table as a product with rows of the identity, so that the table gets a gradient. */
function tableProduct(weights: Weights): Embed {
  return (ids) =>
    tf.tidy(() => {
      const table = weights.get(EMBEDDING) as tf.Tensor2D;
      const hot = tf.oneHot(tf.tensor1d(ids.flat(), "int32"), table.shape[0]).toFloat() as tf.Tensor2D;
      return tf.matMul(hot, table).reshape([ids.length, ids[0]?.length ?? 0, table.shape[1]]);
    });
}

const EMBEDDING = "language_model.model.embed_tokens.weight";

/**
 * Pointing loss of the language prompt over the decoder's keys: SAM2's cells with their positions. The keys are
 * normalised; otherwise they would outgrow the prompts and the decoder would ignore these.
 */
function promptTerm(w: Weights, batch: PocketBatch, f16: Tensor, lang: Tensor, settings: PocketSettings): Tensor {
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
function namingTerm(w: Weights, batch: PocketBatch, visual: Tensor, seg: Tensor, settings: PocketSettings): Tensor {
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

/** States of the last tile's tokens, or of those of all frames: [n, F · tokens, D]. */
function seenTokens(hidden: Tensor, batch: PocketBatch, tokens: number): Tensor {
  const [n, , width] = hidden.shape as [number, number, number];
  const parts = batch.spans.map(({ end }) => hidden.slice([0, end - tokens, 0], [n, tokens, width]));
  return parts.length === 1 ? (parts[0] as Tensor) : tf.concat(parts, 1);
}
