/**
 * Masks from logits on the GPU: one bit per pixel, the number of pixels inside, and the sum of their probabilities.
 * Reading them back takes a thirtieth of the logits' bytes, and logits at picture size are never in memory: each is
 * interpolated where it is needed, with the same results as kernels/resize.ts.
 *
 * Layout: logits [N, h, w] row-major; words [N, ⌈P / 16⌉], each a whole number below 2¹⁶ in a float32, which is exact
 * and survives every operation, pixel 16 w + b in bit b; sums [N, 2] of pixels inside and their probabilities. Plan: a
 * thread takes 256 pixels of a mask and leaves partial sums, which a second pass adds. Numerics: f32, fixed order,
 * counts exact up to 2²⁴. Equals `maskBitsByOps`.
 */

import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, suits, toTensor } from "../runtime/custom-op.ts";
import { u32s } from "../runtime/pipelines.ts";
import { type Tensor, tf } from "../tf.ts";
import { zerosBehind } from "./repeat.ts";
import { PLACE, resizeBilinear } from "./resize.ts";

/** Pixels of a word. */
const WORD_PIXELS = 16;
/** Pixels of a thread. */
const RUN = 256;

const PROGRAM = pointProgram({
  name: "lab-mask-bits",
  inputs: { logits: "f32" },
  outputs: { words: "f32", parts: "f32" },
  uniforms: {
    ...u32s("size pixels words_each runs width resized oldHeight oldWidth"),
    down: "f32",
    along: "f32",
  },
  header: `${PLACE}
  fn logitAt(mask: u32, at: u32) -> f32 {
    if (u.resized == 0u) { return logits[mask * u.pixels + at]; }
    let y = place(at / u.width, u.down, u.oldHeight);
    let x = place(at % u.width, u.along, u.oldWidth);
    let top = (mask * u.oldHeight + y.low) * u.oldWidth;
    let bottom = (mask * u.oldHeight + y.high) * u.oldWidth;
    let above = logits[top + x.low] + (logits[top + x.high] - logits[top + x.low]) * x.share;
    let below = logits[bottom + x.low] + (logits[bottom + x.high] - logits[bottom + x.low]) * x.share;
    return above + (below - above) * y.share;
  }`,
  body: `
    let mask = i / u.runs;
    let begin = (i % u.runs) * ${RUN}u;
    let end = min(begin + ${RUN}u, u.pixels);
    var inside = 0.0; var sure = 0.0;
    var at = begin;
    while (at < end) {
      var word = 0u;
      let last = min(at + ${WORD_PIXELS}u, end);
      let first = at;
      for (; at < last; at++) {
        let logit = logitAt(mask, at);
        let hit = logit > 0.0;
        word |= select(0u, 1u, hit) << (at - first);
        inside += select(0.0, 1.0, hit);
        sure += select(0.0, 1.0 / (1.0 + exp(-logit)), hit);
      }
      words[mask * u.words_each + first / ${WORD_PIXELS}u] = f32(word);
    }
    parts[2u * i] = inside; parts[2u * i + 1u] = sure;`,
});

export interface Size {
  readonly height: number;
  readonly width: number;
}

interface MaskBits {
  /** [N, ⌈P / 16⌉]. */
  readonly words: Tensor;
  /** [N, 2]: pixels inside and the sum of their probabilities. */
  readonly sums: Tensor;
}

/**
 * @param logits [N, h, w], above 0 is inside
 * @param size of the masks, to which the logits are resized; by default the logits' size
 * @returns tensors owned by the caller or its tidy
 */
export function maskBits(logits: Tensor, size?: Size): MaskBits {
  if (!customKernels() || !suits(logits)) return maskBitsByOps(logits, size);
  const [masks, oldHeight, oldWidth] = logits.shape as [number, number, number];
  const { height, width } = size ?? { height: oldHeight, width: oldWidth };
  const pixels = height * width;
  const [each, runs] = [Math.ceil(pixels / WORD_PIXELS), Math.ceil(pixels / RUN)];
  const [words, sums] = tf.tidy(() => {
    const outputs = [{ shape: [masks, each] }, { shape: [masks, runs, 2] }];
    const resized = Number(height !== oldHeight || width !== oldWidth);
    const uniforms = [pixels, each, runs, width, resized, oldHeight, oldWidth, oldHeight / height, oldWidth / width];
    const made = runPoints(PROGRAM, [logits], outputs, masks * runs, uniforms).map(toTensor);
    const [bits, parts] = made as [Tensor, Tensor];
    return [bits, parts.sum(1)];
  }) as [Tensor, Tensor];
  return { words, sums };
}

/** `maskBits` in stock operations. */
export function maskBitsByOps(given: Tensor, size?: Size): MaskBits {
  const [words, sums] = tf.tidy(() => {
    const [masks, h, w] = given.shape as [number, number, number];
    const { height, width } = size ?? { height: h, width: w };
    const logits = size === undefined ? given : resizeBilinear(given.reshape([masks, h, w, 1]), height, width);
    const pixels = height * width;
    const each = Math.ceil(pixels / WORD_PIXELS);
    const flat = logits.reshape([masks, pixels]) as tf.Tensor2D;
    const inside = flat.greater(0).toFloat() as tf.Tensor2D;
    const bits = zerosBehind(inside, [0, each * WORD_PIXELS - pixels]);
    const powers = tf.tensor1d(Array.from({ length: WORD_PIXELS }, (_, bit) => 2 ** bit));
    const sure = tf.where(flat.greater(0), flat.sigmoid(), tf.zerosLike(flat));
    return [bits.reshape([masks, each, WORD_PIXELS]).mul(powers).sum(2), tf.stack([inside.sum(1), sure.sum(1)], 1)];
  }) as [Tensor, Tensor];
  return { words, sums };
}

/**
 * Pixels 0/1 of words that were read back.
 * @param pixels number of pixels of the mask
 */
export function pixelsOf(words: ArrayLike<number>, pixels: number): Uint8Array {
  const mask = new Uint8Array(pixels);
  for (let word = 0, first = 0; first < pixels; word++, first += WORD_PIXELS) {
    const last = Math.min(first + WORD_PIXELS, pixels);
    let bits = words[word] as number;
    for (let at = first; at < last; at++, bits >>= 1) mask[at] = bits & 1;
  }
  return mask;
}
