/**
 * SAM2's mask decoder: language prompts against cached image features (docs/spec/sa2va.md#15-mask-decoder).
 * Differentiable in the decoder, the prompt encoder and the language prompts.
 */

import { gelu } from "../../gpu/kernels/activation.ts";
import { attention } from "../../gpu/kernels/attention/attention.ts";
import { conv2d, convTranspose2x2 } from "../../gpu/kernels/conv.ts";
import { layerNorm } from "../../gpu/kernels/norm.ts";
import { repeatRows } from "../../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Probe } from "../probe.ts";
import { activatedLayer, addLayer, linearLayer } from "../weights/linear-layer.ts";
import type { Weights } from "../weights/weights.ts";
import type { Sam2Config } from "./config.ts";
import type { FrameMaps, SamFeatures } from "./hiera.ts";
import { clickTokens, densePositions, densePrompt, sparseTokens } from "./prompt-encoder.ts";

// The decoder's transformer, in which tokens and image attend to each other (docs/spec/sa2va.md#15-mask-decoder).

const NORM_EPS = 1e-5;

interface TwoWayState {
  /** Tokens [B, T, C]. */
  readonly queries: Tensor;
  /** Image cells [B, h·w, C]. */
  readonly keys: Tensor;
}

/**
 * @param tokens [B, T, C]; every layer adds them again as the positional term of the queries
 * @param image [M, h·w, C]; map m serves the B / M token rows from m · B / M on
 * @param positions positional term of the image cells, [1, h·w, C]
 */
function twoWayTransformer(
  w: Weights,
  path: string,
  config: Sam2Config,
  tokens: Tensor,
  image: Tensor,
  positions: Tensor,
  probe?: Probe,
): TwoWayState {
  const heads = config.decoderNumHeads;
  const batch = tokens.shape[0] as number;
  let queries = tokens;
  let keys = image;
  for (let index = 0; index < config.decoderDepth; index++) {
    const layer = `${path}.layers.${index}`;
    const attend = (name: string, q: Tensor, k: Tensor, v: Tensor): Tensor =>
      headAttention(w, `${layer}.${name}`, heads, q, k, v);
    const norm = (number: number, x: Tensor): Tensor => normed(w, `${layer}.norm${number}`, x);
    if (index === 0) {
      // The first layer has neither a positional term nor a residual here.
      queries = norm(1, attend("self_attn", queries, queries, queries));
    } else {
      const placed = queries.add(tokens);
      queries = norm(1, queries.add(attend("self_attn", placed, placed, queries)));
    }
    const placedKeys = keys.add(positions);
    const seen = attend("cross_attn_token_to_image", queries.add(tokens), placedKeys, keys);
    queries = norm(2, queries.add(seen));
    queries = norm(3, addMlp(w, `${layer}.mlp.layers`, queries));
    const update = attend("cross_attn_image_to_token", placedKeys, queries.add(tokens), queries);
    keys = norm(4, inRows(keys, batch).add(update));
    probe?.(`decoder.layer.${index}.queries`, queries);
    probe?.(`decoder.layer.${index}.keys`, keys);
  }
  const final = `${path}.final_attn_token_to_image`;
  const last = headAttention(w, final, heads, queries.add(tokens), keys.add(positions), keys);
  return { queries: normed(w, `${path}.norm_final_attn`, queries.add(last)), keys };
}

/** Repeats maps that several rows share, once per row. */
function inRows(x: Tensor, rows: number): Tensor {
  return repeatRows(x, rows / (x.shape[0] as number));
}

/**
 * Multi-head attention with its own projections; the stored weights determine the inner width. Shared rows are
 * projected once: in the first layer all rollouts of a picture read the same map.
 */
function headAttention(w: Weights, path: string, heads: number, q: Tensor, k: Tensor, v: Tensor): Tensor {
  return tf.tidy(() => {
    const batch = Math.max(...[q, k, v].map((x) => x.shape[0] as number));
    const split = (name: string, x: Tensor): Tensor => {
      const y = inRows(linearLayer(w, `${path}.${name}`, x), batch);
      const [, length, width] = y.shape as [number, number, number];
      return y.reshape([batch, length, heads, width / heads]).transpose([0, 2, 1, 3]);
    };
    const queries = split("q_proj", q);
    const depth = queries.shape[3] as number;
    const mixed = attention(queries, split("k_proj", k), split("v_proj", v), 1 / Math.sqrt(depth));
    const length = mixed.shape[2] as number;
    return linearLayer(w, `${path}.out_proj`, mixed.transpose([0, 2, 1, 3]).reshape([batch, length, heads * depth]));
  });
}

function addMlp(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => addLayer(w, `${path}.1`, activatedLayer(w, `${path}.0`, x, "relu"), x));
}

function normed(w: Weights, path: string, x: Tensor): Tensor {
  return layerNorm(x, w.get(`${path}.weight`), w.get(`${path}.bias`), NORM_EPS);
}

/** Path of the mask decoder's tensors. */
const DECODER = "grounding_encoder.sam2_model.sam_mask_decoder";
const NORM_2D_EPS = 1e-6;
/** Mask tokens: one "single mask" output, which Sa2VA never uses, and three candidates. */
const MASK_TOKENS = 4;

export interface DecodedMasks {
  /** Logits of all four mask tokens at stride 4, [B, 4, S/4, S/4]. */
  readonly masks: Tensor;
  /** Predicted IoU of each, 0..1, [B, 4]. */
  readonly iou: Tensor;
  /** Logit that the object is present, [B, 1]; not used for the mask. */
  readonly objectScore: Tensor;
}

/** The inputs of mask decoding besides the image features. */
interface DecoderPrompt {
  /** Tokens of points and language, [B, n, C]. */
  readonly sparse: Tensor;
  /** Added to every cell: [1, C], or [B, h, w, C]. */
  readonly dense: Tensor;
  /** Path of the decoder's tensors; the published one by default. */
  readonly decoder?: string | undefined;
}

/** Masks, with the tokens from which the object pointer is computed. */
export interface DecodedPrompt extends DecodedMasks {
  /** Final tokens [B, 6 + n, C]: object score, IoU, four masks, prompt. */
  readonly tokens: Tensor;
}

/**
 * Masks of B independent prompts on one picture, or on several pictures with the same number of prompts each, picture
 * after picture.
 * @param features batch n, one map per picture; n divides B
 * @param lang language prompts [B, C], C = hiddenDim
 */
export function decodeMasks(
  w: Weights,
  config: Sam2Config,
  features: SamFeatures,
  lang: Tensor,
  probe?: Probe,
): DecodedMasks {
  return tf.tidy(() => {
    const prompt = { sparse: sparseTokens(w, lang), dense: densePrompt(w) };
    const { masks, iou, objectScore } = decodePrompts(w, config, features, prompt, probe);
    return { masks, iou, objectScore };
  });
}

/**
 * Masks of one click each, without language: the object that SAM2 finds there.
 * @param features batch 1, or n frames with the same number of clicks each
 * @param points [N, 2], (x, y) in 0..1 of the picture
 */
export function decodeClicks(w: Weights, config: Sam2Config, features: SamFeatures, points: Tensor): DecodedMasks {
  return tf.tidy(() => {
    const prompt = { sparse: clickTokens(w, points), dense: densePrompt(w) };
    const { masks, iou, objectScore } = decodePrompts(w, config, features, prompt);
    return { masks, iou, objectScore };
  });
}

/**
 * Masks of any prompts on maps of batch 1 or n, where n divides B.
 * @returns tensors owned by the caller or its tidy
 */
export function decodePrompts(
  w: Weights,
  config: Sam2Config,
  features: SamFeatures | FrameMaps,
  { sparse, dense, decoder: path = DECODER }: DecoderPrompt,
  probe?: Probe,
): DecodedPrompt {
  const [masks, iou, objectScore, tokens] = tf.tidy(() => {
    const batch = sparse.shape[0] as number;
    const own = promptTokens(w, path, sparse);
    probe?.("decoder.tokens_in", own);
    const source = features.f16.add(dense);
    probe?.("decoder.src_in", source);
    const [maps, height, width, channels] = source.shape as [number, number, number, number];
    const cells = height * width;
    const keys = source.reshape([maps, cells, channels]);
    const positions = densePositions(w, height, width).reshape([1, cells, channels]);
    const transformer = `${path}.transformer`;
    const { queries, keys: image } = twoWayTransformer(w, transformer, config, own, keys, positions, probe);
    probe?.("decoder.hs", queries);
    probe?.("decoder.src_out", image);

    const upscaled = upscale(w, path, image.reshape([batch, height, width, channels]), features, probe);
    const [, outHeight, outWidth, outChannels] = upscaled.shape as [number, number, number, number];
    const kernels = tf.stack(
      Array.from({ length: MASK_TOKENS }, (_, k) =>
        mlp3(w, `${path}.output_hypernetworks_mlps.${k}`, tokenAt(queries, 2 + k)),
      ),
      1,
    );
    const pixels = upscaled.reshape([batch, outHeight * outWidth, outChannels]);
    const logits = tf.matMul(kernels, pixels, false, true).reshape([batch, MASK_TOKENS, outHeight, outWidth]);
    return [
      logits,
      mlp3(w, `${path}.iou_prediction_head`, tokenAt(queries, 1)).sigmoid(),
      mlp3(w, `${path}.pred_obj_score_head`, tokenAt(queries, 0)),
      queries,
    ];
  }) as [Tensor, Tensor, Tensor, Tensor];
  return { masks, iou, objectScore, tokens };
}

interface SelectedMask {
  /** [B, h, w] logits of the chosen candidate. */
  readonly mask: Tensor;
  /** Chosen candidate 0..2 (mask token 1..3), [B] int32. */
  readonly index: Tensor;
}

/**
 * The candidate (mask tokens 1..3) with the largest predicted IoU. The choice has no gradient: it flows only into the
 * chosen mask, never into the IoU head.
 * @param masks [B, 4, h, w]
 * @param iou [B, 4]
 */
export function selectMask(masks: Tensor, iou: Tensor): SelectedMask {
  const index = tf.tidy(() => candidates(iou).argMax(1));
  const mask = tf.tidy(() => {
    const [batch, , height, width] = masks.shape as [number, number, number, number];
    const three = masks.slice([0, 1, 0, 0], [batch, MASK_TOKENS - 1, height, width]);
    // A product with the one-hot choice is exact, and many times faster than the backend's sum over a middle axis.
    const choice = chosen(iou).reshape([batch, 1, MASK_TOKENS - 1]);
    return tf.matMul(choice, three.reshape([batch, MASK_TOKENS - 1, -1])).reshape([batch, height, width]);
  });
  return { mask, index };
}

function candidates(iou: Tensor): Tensor {
  return iou.slice([0, 1], [iou.shape[0] as number, MASK_TOKENS - 1]);
}

/**
 * One-hot [B, 3] of the best candidate, a constant for gradients, so that weight decay skips tensors that affect only
 * the choice.
 */
function chosen(iou: Tensor): Tensor {
  const value = (): Tensor => tf.oneHot(candidates(iou).argMax(1), MASK_TOKENS - 1).toFloat();
  return tf.customGrad(() => ({ value: value(), gradFunc: () => [] }))();
}

/** [object score, IoU, four masks, prompt]: [B, 6 + n, C]. */
function promptTokens(w: Weights, path: string, sparse: Tensor): Tensor {
  return tf.tidy(() => {
    const batch = sparse.shape[0] as number;
    const names = ["obj_score_token", "iou_token", "mask_tokens"];
    const own = tf.concat(
      names.map((name) => w.get(`${path}.${name}.weight`)),
      0,
    );
    const [count, width] = own.shape as [number, number];
    return tf.concat([repeatRows(own.reshape([1, count, width]), batch), sparse], 1);
  });
}

/** Stride 16 → stride 4, adding the two finer feature maps: [B, h, w, C] → [B, 4h, 4w, C/8]. */
function upscale(
  w: Weights,
  decoder: string,
  image: Tensor,
  features: SamFeatures | FrameMaps,
  probe: Probe | undefined,
): Tensor {
  return tf.tidy(() => {
    const path = `${decoder}.output_upscaling`;
    // The map of a single picture broadcasts to every row.
    const times = features.f4.shape[0] === 1 ? 1 : (image.shape[0] as number) / (features.f4.shape[0] as number);
    const skip = (name: string, x: Tensor): Tensor =>
      repeatRows(conv2d(x, w.get(`${decoder}.${name}.weight`), w.get(`${decoder}.${name}.bias`), 1, 0), times);
    const s1 = skip("conv_s1", features.f8);
    const s0 = skip("conv_s0", features.f4);
    probe?.("feat_s1", s1);
    probe?.("feat_s0", s0);
    const middle = convTranspose2x2(image, w.get(`${path}.0.weight`), w.get(`${path}.0.bias`)).add(s1);
    const normed = gelu(layerNorm(middle, w.get(`${path}.1.weight`), w.get(`${path}.1.bias`), NORM_2D_EPS));
    return gelu(convTranspose2x2(normed, w.get(`${path}.3.weight`), w.get(`${path}.3.bias`)).add(s0));
  });
}

/** Three linear layers with ReLU between, `<path>.layers.0` to `.2`. */
export function mlp3(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => {
    const first = activatedLayer(w, `${path}.layers.0`, x, "relu");
    return linearLayer(w, `${path}.layers.2`, activatedLayer(w, `${path}.layers.1`, first, "relu"));
  });
}

/** Token `index` of [B, T, C] as [B, C]. */
export function tokenAt(tokens: Tensor, index: number): Tensor {
  const [batch, , width] = tokens.shape as [number, number, number];
  return tokens.slice([0, index, 0], [batch, 1, width]).reshape([batch, width]);
}
