/**
 * Masks of one video frame and the object pointers that come with them (docs/spec/video.md#3-prompted-frames,
 * docs/spec/video.md#6-tracked-frames).
 */
import { linear } from "../../../engine/gpu/kernels/linear.ts";
import { type Tensor, tf } from "../../../engine/gpu/tf.ts";
import type { Sam2Config } from "../../../engine/model/sam2/config.ts";
import { type FrameMaps, withoutMemory } from "../../../engine/model/sam2/hiera.ts";
import {
  type DecodedPrompt,
  decodePrompts,
  mlp3,
  selectMask,
  tokenAt,
} from "../../../engine/model/sam2/mask-decoder.ts";
import { densePrompt, noPointTokens, sparseTokens } from "../../../engine/model/sam2/prompt-encoder.ts";
import type { Weights } from "../../../engine/model/weights/weights.ts";
import { SAM } from "./video-shapes.ts";

// The object pointer of a frame, and the time codes of pointers as keys (docs/spec/video.md#3-prompted-frames).

/** Index of the first mask token among the decoder's tokens. */
const MASK_TOKEN = 2;
const CANDIDATES = 3;

/** The token of the single mask, which has no candidates. @param tokens [B, T, C] @returns [B, C] */
export function singleToken(tokens: Tensor): Tensor {
  return tf.tidy(() => tokenAt(tokens, MASK_TOKEN));
}

/** The token of the chosen candidate. @param tokens [B, T, C] @param index 0..2, [B] @returns [B, C] */
export function chosenToken(tokens: Tensor, index: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, , width] = tokens.shape as [number, number, number];
    const three = tokens.slice([0, MASK_TOKEN + 1, 0], [batch, CANDIDATES, width]);
    const choice = tf.oneHot(index.toInt(), CANDIDATES).toFloat().reshape([batch, 1, CANDIDATES]);
    return tf.matMul(choice, three).reshape([batch, width]);
  });
}

/**
 * @param token of the object's mask, [B, C]
 * @param score logit that the object is present, [B, 1]; at 0 or below, the stored "no object" pointer is used
 * @returns [B, C]
 */
export function objectPointer(w: Weights, token: Tensor, score: Tensor): Tensor {
  return tf.tidy(() => {
    const present = score.greater(0).toFloat();
    const found = mlp3(w, `${SAM}.obj_ptr_proj`, token).mul(present);
    return found.add(w.get(`${SAM}.no_obj_ptr`).mul(tf.scalar(1).sub(present)));
  });
}

/**
 * The time code of pointers, which only SAM 2.1 has: sines, then cosines of the distance, projected to the memory's
 * width.
 * @param distances in frames, divided by the largest possible distance; one per pointer
 * @returns [pointers, M], or undefined if the checkpoint lacks this projection
 */
export function pointerTimes(w: Weights, distances: readonly number[]): Tensor | undefined {
  const weight = w.find(`${SAM}.obj_ptr_tpos_proj.weight`);
  if (weight === undefined) return undefined;
  return tf.tidy(() => {
    const width = weight.shape[1] as number;
    const codes = distances.flatMap((distance) => timeCode(distance, width));
    const code = tf.tensor2d(codes, [distances.length, width]);
    return linear(code, weight, w.get(`${SAM}.obj_ptr_tpos_proj.bias`));
  });
}

/** One-dimensional sine code, [width]. */
export function timeCode(distance: number, width: number): number[] {
  const half = width / 2;
  const angles = Array.from({ length: half }, (_, k) => distance / 10000 ** ((2 * Math.floor(k / 2)) / half));
  return [...angles.map(Math.sin), ...angles.map(Math.cos)];
}

/** Mask logits of an object whose score says that it is absent, if absent objects are blanked. */
const BLANK_LOGIT = -1024;

/** Masks of B objects on one frame; owned by the caller or its tidy. */
export interface FrameMasks {
  /** Logits of the selected masks, [B, S/4, S/4]. */
  readonly lowRes: Tensor;
  /** Logit that the object is present on the frame, [B, 1]. */
  readonly score: Tensor;
  /** [B, C]. */
  readonly pointer: Tensor;
  /** Predicted IoU of the three candidates, [B, 3]; a given mask has no candidates. */
  readonly iou?: Tensor | undefined;
  /** Chosen candidate 0..2, [B] int32. */
  readonly index?: Tensor | undefined;
}

export function disposeFrameMasks({ lowRes, score, pointer, iou, index }: FrameMasks): void {
  tf.dispose({ lowRes, score, pointer, iou, index });
}

/**
 * A frame with a language prompt, decoded without memory.
 * @param lang [B, C]
 * @param decoder path of another decoder's weights
 */
export function promptedMasks(
  w: Weights,
  config: Sam2Config,
  maps: FrameMaps,
  lang: Tensor,
  decoder?: string,
): FrameMasks {
  return ownMasks(() => {
    const prompt = { sparse: sparseTokens(w, lang), dense: densePrompt(w), decoder };
    return selected(w, decodePrompts(w, config, withoutMemory(w, maps), prompt), false);
  });
}

/**
 * A frame without a prompt.
 * @param remembered its map after memory attention, [B, h, w, C]
 * @param blank whether masks of absent objects become empty, as in SAM2 itself but not in Sa2VA
 */
export function trackedMasks(
  w: Weights,
  config: Sam2Config,
  maps: FrameMaps,
  remembered: Tensor,
  blank: boolean,
): FrameMasks {
  return ownMasks(() => {
    const prompt = { sparse: noPointTokens(w, remembered.shape[0] as number), dense: densePrompt(w) };
    return selected(w, decodePrompts(w, config, { ...maps, f16: remembered }, prompt), blank);
  });
}

/** Runs `make` in a tidy that keeps its result. */
export function ownMasks(make: () => FrameMasks): FrameMasks {
  return tf.tidy(() => ({ ...make() }));
}

function selected(w: Weights, { masks, iou, objectScore, tokens }: DecodedPrompt, blank: boolean): FrameMasks {
  const { mask, index } = selectMask(masks, iou);
  const present = objectScore.greater(0).toFloat().reshape([-1, 1, 1]);
  const lowRes = blank ? mask.mul(present).add(tf.scalar(1).sub(present).mul(BLANK_LOGIT)) : mask;
  const three = iou.slice([0, 1], [iou.shape[0] as number, 3]);
  const pointer = objectPointer(w, chosenToken(tokens, index), objectScore);
  return { lowRes, score: objectScore, pointer, iou: three, index };
}
