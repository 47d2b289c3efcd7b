/**
 * Masks as prompts of conditioning frames, as SAM2's video predictor and Sa2VA-i use them
 * (docs/spec/video.md#9-consistent-decoder).
 */
import { LabError } from "../../../engine/errors.ts";
import { gelu } from "../../../engine/gpu/kernels/activation.ts";
import { conv2d } from "../../../engine/gpu/kernels/conv.ts";
import { layerNorm } from "../../../engine/gpu/kernels/norm.ts";
import { type Tensor, tf } from "../../../engine/gpu/tf.ts";
import type { Sam2Config } from "../../../engine/model/sam2/config.ts";
import type { FrameMaps } from "../../../engine/model/sam2/hiera.ts";
import { decodePrompts } from "../../../engine/model/sam2/mask-decoder.ts";
import { noPointTokens } from "../../../engine/model/sam2/prompt-encoder.ts";
import type { Weights } from "../../../engine/model/weights/weights.ts";
import { type FrameMasks, objectPointer, ownMasks, singleToken } from "./frame-masks.ts";
import { SAM } from "./video-shapes.ts";

// Bilinear resize with antialiasing in single precision on the host (docs/spec/video.md#9-consistent-decoder).

interface Taps {
  readonly start: number;
  readonly weights: Float32Array;
}

/**
 * A triangle filter as wide as the reduction, at least one pixel to each side; columns first, then rows.
 * @param values [height · width]
 * @returns [toHeight · toWidth]
 * @throws LabError("internal") when the values do not fill the size
 */
export function resizeAntialiased(
  values: Float32Array,
  height: number,
  width: number,
  toHeight: number,
  toWidth: number,
): Float32Array<ArrayBuffer> {
  if (values.length !== height * width)
    throw new LabError("internal", `${values.length} values do not fill ${height} x ${width}`);
  const along = tapsOf(width, toWidth);
  const wide = new Float32Array(height * toWidth);
  for (let y = 0; y < height; y++) {
    along.forEach(({ start, weights }, x) => {
      wide[y * toWidth + x] = sum(values, y * width + start, 1, weights);
    });
  }
  const down = tapsOf(height, toHeight);
  const out = new Float32Array(toHeight * toWidth);
  down.forEach(({ start, weights }, y) => {
    for (let x = 0; x < toWidth; x++) out[y * toWidth + x] = sum(wide, start * toWidth + x, toWidth, weights);
  });
  return out;
}

function sum(values: Float32Array, from: number, step: number, weights: Float32Array): number {
  let total = 0;
  for (let at = 0; at < weights.length; at++) {
    total = Math.fround(total + Math.fround((values[from + at * step] as number) * (weights[at] as number)));
  }
  return total;
}

function tapsOf(from: number, to: number): Taps[] {
  const scale = from / to;
  const support = Math.max(scale, 1);
  return Array.from({ length: to }, (_, at) => {
    const centre = scale * (at + 0.5);
    const start = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), from);
    const raw = Array.from({ length: end - start }, (_, tap) =>
      Math.max(0, 1 - Math.abs((start + tap - centre + 0.5) / support)),
    );
    const total = raw.reduce((all, weight) => all + weight, 0);
    return { start, weights: Float32Array.from(raw, (weight) => weight / total) };
  });
}

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
