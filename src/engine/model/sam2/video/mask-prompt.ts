/**
 * Masks as prompts of conditioning frames, as SAM2's video predictor and Sa2VA-i use them
 * (docs/spec/video.md#9-consistent-decoder).
 */

import { gelu } from "../../../gpu/kernels/activation.ts";
import { conv2d } from "../../../gpu/kernels/conv.ts";
import { layerNorm } from "../../../gpu/kernels/norm.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Weights } from "../../weights/weights.ts";
import type { Sam2Config } from "../config.ts";
import { decodePrompts } from "../mask-decoder.ts";
import type { FrameMaps } from "../neck.ts";
import { noPointTokens } from "../prompt-encoder.ts";
import { resizeAntialiased } from "./antialias.ts";
import { type FrameMasks, ownMasks } from "./frame-masks.ts";
import { objectPointer, singleToken } from "./object-pointer.ts";
import { SAM } from "./video-shapes.ts";

const NORM_EPS = 1e-6;
/** Logits of a given mask: `INSIDE` · value − `OUTSIDE`. */
const INSIDE = 20;
const OUTSIDE = 10;

/** A mask of one object at the size of the video: 0 or 1, row-major. */
export interface GivenMask {
  readonly data: Uint8Array;
  readonly height: number;
  readonly width: number;
}

/**
 * The mask on SAM2's square: resized with antialiasing, 1 where the value is at least one half. @returns [size · size]
 */
export function squareMask({ data, height, width }: GivenMask, size: number): Uint8Array {
  const values = resizeAntialiased(Float32Array.from(data), height, width, size, size);
  return Uint8Array.from(values, (value) => (value >= 0.5 ? 1 : 0));
}

/** The masks of a conditioning frame from given ones, which are not refined but only resized to the decoder's size. */
export function givenMasks(w: Weights, config: Sam2Config, maps: FrameMaps, masks: readonly GivenMask[]): FrameMasks {
  const size = config.imageSize;
  const side = size / 4;
  const squares = masks.map((mask) => squareMask(mask, size));
  return ownMasks(() => {
    const square = tf.stack(squares.map((own) => tf.tensor3d(Float32Array.from(own), [size, size, 1])));
    const lowRes = tf.stack(
      squares.map((own) => {
        const logits = Float32Array.from(own, (value) => INSIDE * value - OUTSIDE);
        return tf.tensor2d(resizeAntialiased(logits, size, size, side, side), [side, side]);
      }),
    );
    const prompt = { sparse: noPointTokens(w, masks.length), dense: maskEmbedding(w, square) };
    const { tokens, objectScore } = decodePrompts(w, config, maps, prompt);
    const filled = squares.map((own) => (own.includes(1) ? 1 : 0));
    const seen = tf.tensor2d(filled, [filled.length, 1]);
    const pointer = objectPointer(w, singleToken(tokens), tf.where(seen.greater(0), objectScore, tf.scalar(-1)));
    return { lowRes, score: seen.mul(INSIDE).sub(OUTSIDE), pointer };
  });
}

/**
 * A mask as a dense prompt: a learned 4 × 4 reduction, then the prompt encoder's layers. [B, S, S, 1] → [B, S/16, S/16,
 * C]
 */
function maskEmbedding(w: Weights, square: Tensor): Tensor {
  return tf.tidy(() => {
    const down = `${SAM}.sam_prompt_encoder.mask_downscaling`;
    const layer = (path: string, x: Tensor, stride: number): Tensor =>
      conv2d(x, w.get(`${path}.weight`), w.get(`${path}.bias`), stride, 0);
    const normed = (path: string, x: Tensor): Tensor =>
      gelu(layerNorm(x, w.get(`${path}.weight`), w.get(`${path}.bias`), NORM_EPS));
    const reduced = layer(`${SAM}.mask_downsample`, square, 4);
    const first = normed(`${down}.1`, layer(`${down}.0`, reduced, 2));
    return layer(`${down}.6`, normed(`${down}.4`, layer(`${down}.3`, first, 2)), 1);
  });
}
