/** The object pointer of a frame, and the time codes of pointers as keys (docs/spec/video.md#3-prompted-frames). */
import { linear } from "../../../gpu/kernels/linear.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Weights } from "../../weights/weights.ts";
import { mlp3, tokenAt } from "../mask-decoder.ts";
import { SAM } from "./video-shapes.ts";

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
