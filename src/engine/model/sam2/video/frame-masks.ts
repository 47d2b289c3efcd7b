/**
 * Masks of one video frame and the object pointers that come with them (docs/spec/video.md#3-prompted-frames,
 * docs/spec/video.md#6-tracked-frames).
 */
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Weights } from "../../weights/weights.ts";
import type { Sam2Config } from "../config.ts";
import { type DecodedPrompt, decodePrompts, selectMask } from "../mask-decoder.ts";
import { type FrameMaps, withoutMemory } from "../neck.ts";
import { densePrompt, noPointTokens, sparseTokens } from "../prompt-encoder.ts";
import { chosenToken, objectPointer } from "./object-pointer.ts";

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
