/**
 * From low-resolution mask logits to masks at image size, and their overlap with a truth
 * (docs/spec/sa2va.md#15-mask-decoder).
 */
import { maskBits, pixelsOf } from "../../gpu/kernels/mask-bits.ts";
import { resizeBilinear } from "../../gpu/kernels/resize.ts";
import { readTogether } from "../../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";

/**
 * Logits at SAM2's input size: the first of the two enlargements.
 * @param lowRes [G, h, w]
 * @returns [G, samSize, samSize]
 */
export function samSizeLogits(lowRes: Tensor, samSize: number): Tensor {
  return resizeMaps(lowRes, samSize, samSize);
}

/**
 * Logits at image size, enlarged in two bilinear steps through SAM2's input size as the reference does.
 * @param lowRes [G, h, w]
 * @returns [G, height, width]
 */
export function imageLogits(lowRes: Tensor, samSize: number, height: number, width: number): Tensor {
  return tf.tidy(() => resizeMaps(samSizeLogits(lowRes, samSize), height, width));
}

function resizeMaps(maps: Tensor, height: number, width: number): Tensor {
  return tf.tidy(() => {
    const [count, h, w] = maps.shape as [number, number, number];
    return resizeBilinear(maps.reshape([count, h, w, 1]), height, width).reshape([count, height, width]);
  });
}

/**
 * Mask pixels of logits that were read back: 1 where the logit is above 0.
 * @returns row-major, same length
 */
export function packMask(logits: Float32Array): Uint8Array {
  const mask = new Uint8Array(logits.length);
  for (let at = 0; at < logits.length; at++) if ((logits[at] as number) > 0) mask[at] = 1;
  return mask;
}

/** A mask at image size, 0/1 row-major, and its mean probability inside (null when it is empty). */
export interface FoundMask {
  readonly mask: Uint8Array;
  readonly confidence: number | null;
}

/** Masks that are to be read back, with the size of their picture. */
export interface SizedLogits {
  /** Low-resolution logits [G, h, w]; not disposed. */
  readonly lowRes: Tensor;
  readonly height: number;
  readonly width: number;
}

/**
 * Masks at the sizes of several pictures, by one read-back of their bits; one list an entry.
 * @param samSize SAM2's input size
 */
export async function readMasks(entries: readonly SizedLogits[], samSize: number): Promise<FoundMask[][]> {
  const tensors = tf.tidy(() =>
    entries.flatMap(({ lowRes, height, width }) => {
      const { words, sums } = maskBits(imageLogits(lowRes, samSize, height, width));
      return [words, sums];
    }),
  );
  const arrays = await readTogether(tensors).finally(() => tf.dispose(tensors));
  return entries.map(({ lowRes, height, width }, at) => {
    const [words, sums] = arrays.slice(2 * at) as [Float32Array, Float32Array];
    const each = words.length / (lowRes.shape[0] as number);
    return Array.from({ length: lowRes.shape[0] as number }, (_, n): FoundMask => {
      const [inside, sure] = sums.subarray(3 * n) as unknown as [number, number];
      const mask = pixelsOf(words.subarray(n * each, (n + 1) * each), height * width);
      return { mask, confidence: inside === 0 ? null : sure / inside };
    });
  });
}

export interface OverlapCounts {
  /** Pixels set in both, [G] f32; exact up to 2²⁴. */
  readonly intersection: Tensor;
  /** Pixels set in either, [G] f32. */
  readonly union: Tensor;
}

/**
 * Pixel counts for IoU, left on the GPU.
 * @param logits [G, h, w] at image size
 * @param truth [h, w], 0 or 1
 */
export function maskIouCounts(logits: Tensor, truth: Tensor): OverlapCounts {
  const [intersection, union] = tf.tidy(() => {
    const { sums } = maskBits(logits, truth);
    const [inside, , both] = tf.unstack(sums, 1) as [Tensor, Tensor, Tensor];
    return [both, inside.add(truth.toFloat().sum()).sub(both)];
  }) as [Tensor, Tensor];
  return { intersection, union };
}
