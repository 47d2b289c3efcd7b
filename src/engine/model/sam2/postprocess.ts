/** From low-resolution mask logits to masks at image size, and their overlap with a truth (reference: sa2va.md §15). */
import { resizeBilinear } from "../../gpu/kernels/resize.ts";
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

/** Mean probability of the pixels inside a mask, from its logits at image size; null when none is inside. */
export function maskConfidence(logits: Float32Array): number | null {
  let [inside, sum] = [0, 0];
  for (const logit of logits) {
    if (!(logit > 0)) continue;
    inside++;
    sum += 1 / (1 + Math.exp(-logit));
  }
  return inside === 0 ? null : sum / inside;
}

export interface OverlapCounts {
  /** Pixels set in both, [G] f32; exact up to 2²⁴. */
  readonly intersection: Tensor;
  /** Pixels set in either, [G] f32. */
  readonly union: Tensor;
}

/**
 * Pixel counts for IoU, left on the GPU so that one small read-back per group is enough.
 * @param logits [G, h, w] at image size
 * @param truth [h, w], 0 or 1
 */
export function maskIouCounts(logits: Tensor, truth: Tensor): OverlapCounts {
  const [intersection, union] = tf.tidy(() => {
    const count = logits.shape[0] as number;
    const predicted = logits.greater(0).toFloat().reshape([count, -1]);
    const target = truth.toFloat().reshape([1, -1]);
    const both = predicted.mul(target).sum(1);
    return [both, predicted.sum(1).add(target.sum()).sub(both)];
  }) as [Tensor, Tensor];
  return { intersection, union };
}
