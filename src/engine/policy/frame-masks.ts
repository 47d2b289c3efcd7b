/**
 * Masks of prompts about pictures and clips. The frames of a clip are decoded separately with one prompt, as in the
 * published training.
 */
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, decodeMasks } from "../model/sam2/mask-decoder.ts";
import type { SamFeatures } from "../model/sam2/neck.ts";
import type { Weights } from "../model/weights/weights.ts";
import type { ImageFeatures } from "./features.ts";

/** Number of frames of a picture or clip. */
export function frameCount({ frames = 1 }: Pick<ImageFeatures, "frames">): number {
  return frames;
}

/**
 * Masks of N prompts per picture or clip, picture after picture, frame after frame; differentiable.
 * @param language [pictures · N, C]
 * @returns [Σ frames · N, …], owned by the caller or its tidy
 */
export function decodeFrames(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly ImageFeatures[],
  language: Tensor,
): DecodedMasks {
  const [masks, iou, objectScore] = tf.tidy(() => {
    const each = (language.shape[0] as number) / pictures.length;
    const rows = pictures.flatMap((picture, at) =>
      Array.from({ length: frameCount(picture) * each }, (_, row) => at * each + (row % each)),
    );
    const prompts = rows.length === language.shape[0] ? language : tf.gather(language, tf.tensor1d(rows, "int32"));
    const decoded = decodeMasks(weights, model.config.sam2, samTogether(pictures), prompts);
    return [decoded.masks, decoded.iou, decoded.objectScore];
  }) as [Tensor, Tensor, Tensor];
  return { masks, iou, objectScore };
}

/**
 * Turns a clip's rows from `decodeFrames` into masks of its strip, with scores averaged over the frames, so that one
 * choice of candidate holds for all frames. A picture is unchanged.
 * @returns [N, …] with masks [N, 4, frames · h, w], owned by the caller or its tidy
 */
export function asStrips({ masks, iou, objectScore }: DecodedMasks, frames: number): DecodedMasks {
  if (frames === 1) return { masks, iou, objectScore };
  const [strips, scores, found] = tf.tidy(() => {
    const [rows, tokens, height, width] = masks.shape as [number, number, number, number];
    const count = rows / frames;
    const mean = (values: Tensor): Tensor => values.reshape([frames, count, -1]).mean(0);
    const turned = tf.transpose(masks.reshape([frames, count * tokens, height * width]), [1, 0, 2]);
    return [turned.reshape([count, tokens, frames * height, width]), mean(iou), mean(objectScore)];
  }) as [Tensor, Tensor, Tensor];
  return { masks: strips, iou: scores, objectScore: found };
}

/** Concatenates SAM2's maps of several pictures; those of a single one are returned without a copy. */
function samTogether(pictures: readonly ImageFeatures[]): SamFeatures {
  const [first] = pictures;
  if (first !== undefined && pictures.length === 1) return first.sam;
  const joined = (map: keyof SamFeatures): Tensor => tf.concat(pictures.map(({ sam }) => sam[map]));
  return { f16: joined("f16"), f8: joined("f8"), f4: joined("f4") };
}
