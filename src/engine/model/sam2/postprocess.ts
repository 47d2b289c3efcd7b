/** Low-resolution mask logits to masks at image size (docs/spec/sa2va.md#15-mask-decoder). */
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

/** A mask at image size, 0/1 row-major, and its mean probability inside (null when it is empty). */
export interface FoundMask {
  readonly mask: Uint8Array;
  readonly confidence: number | null;
}

/** Masks to read back, with the size of their picture. */
export interface SizedLogits {
  /** Low-resolution logits [G, h, w]; not disposed. */
  readonly lowRes: Tensor;
  readonly height: number;
  readonly width: number;
}

/**
 * Masks at the sizes of several pictures, in one read-back of their bits; one list per entry.
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
      const [inside, sure] = sums.subarray(2 * n) as unknown as [number, number];
      const mask = pixelsOf(words.subarray(n * each, (n + 1) * each), height * width);
      return { mask, confidence: inside === 0 ? null : sure / inside };
    });
  });
}
