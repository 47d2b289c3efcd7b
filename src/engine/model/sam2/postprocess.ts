/** Converts low-resolution mask logits to masks at image size (docs/spec/sa2va.md#15-mask-decoder). */
import { type FrameView, ONE_PICTURE, stacked, unviewed } from "../../data/film-strip.ts";
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

/** A mask at image size, 0/1 row-major, and the mean probability inside it (null if the mask is empty). */
export interface FoundMask {
  readonly mask: Uint8Array;
  readonly confidence: number | null;
}

/** Size of a picture or of a clip's strip of frames. */
export interface PictureSize {
  readonly height: number;
  readonly width: number;
  /** The frames of a clip that are in use; absent for a picture. */
  readonly view?: FrameView | undefined;
}

/** Mask logits to read back, with the size of their picture. */
interface SizedLogits extends PictureSize {
  /** Low-resolution logits [G, h, w], or for a clip [G, frames · h, w]; not disposed. */
  readonly lowRes: Tensor;
}

/**
 * Masks of several pictures at their sizes, with one read-back of their bits; one list per entry. A clip's mask covers
 * the whole strip and is empty on the frames outside the view.
 * @param samSize SAM2's input size
 */
export async function readMasks(entries: readonly SizedLogits[], samSize: number): Promise<FoundMask[][]> {
  const tensors = entries.flatMap(({ lowRes, height, width, view = ONE_PICTURE }) =>
    tf.tidy(() => {
      const [count, rows, across] = lowRes.shape as [number, number, number];
      const { total, frames } = view;
      // Each frame of a strip is contiguous and is enlarged separately.
      const alone = lowRes.reshape([count * frames.length, rows / frames.length, across]);
      const { words, sums } = maskBits(samSizeLogits(alone, samSize), { height: height / total, width });
      return [words, sums];
    }),
  );
  const arrays = await readTogether(tensors).finally(() => tf.dispose(tensors));
  return entries.map(({ lowRes, height, width, view = ONE_PICTURE }, at) => {
    const [words, sums] = arrays.slice(2 * at) as [Float32Array, Float32Array];
    const { length } = view.frames;
    const masks = length * (lowRes.shape[0] as number);
    const each = words.length / masks;
    const pixels = (height * width) / view.total;
    return Array.from({ length: lowRes.shape[0] as number }, (_, n): FoundMask => {
      const parts: Uint8Array[] = [];
      let [inside, sure] = [0, 0];
      for (let part = n * length; part < (n + 1) * length; part++) {
        inside += sums[2 * part] as number;
        sure += sums[2 * part + 1] as number;
        parts.push(pixelsOf(words.subarray(part * each, (part + 1) * each), pixels));
      }
      const mask = parts.length === 1 && view.total === 1 ? (parts[0] as Uint8Array) : unviewed(stacked(parts), view);
      return { mask, confidence: inside === 0 ? null : sure / inside };
    });
  });
}
