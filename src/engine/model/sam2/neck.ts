/**
 * Feature pyramid on top of the trunk, and the cached image features of the mask decoder
 * (docs/spec/sa2va.md#13-sam2-image-encoder).
 */
import { conv2d } from "../../gpu/kernels/conv.ts";
import { nearestTwice } from "../../gpu/kernels/resize.ts";
import type { Paced } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Probe } from "../probe.ts";
import type { Weights } from "../weights/weights.ts";
import type { Sam2Config } from "./config.ts";
import { hiera } from "./hiera.ts";

const SAM = "grounding_encoder.sam2_model";

/** The neck's output maps of a picture or video frame, NHWC. */
export interface FrameMaps {
  /** Stride 16 WITHOUT the no-memory embedding, [1, S/16, S/16, C]. */
  readonly f16: Tensor;
  /** Stride 8, [1, S/8, S/8, C]. */
  readonly f8: Tensor;
  /** Stride 4, [1, S/4, S/4, C]. */
  readonly f4: Tensor;
}

/** Image features of SAM2, NHWC, computed once per image; no trainable tensor comes before them. */
export interface SamFeatures {
  /** Stride 16 with the no-memory embedding added, [1, S/16, S/16, C]. */
  readonly f16: Tensor;
  /** Stride 8, before conv_s1, [1, S/8, S/8, C]. */
  readonly f8: Tensor;
  /** Stride 4, before conv_s0, [1, S/4, S/4, C]. */
  readonly f4: Tensor;
}

/**
 * Lateral 1×1 convolutions; only stride 16 also adds the coarser level.
 * @param stages the four trunk outputs, finest first
 * @returns strides 4, 8 and 16, [1, ·, ·, C] each
 */
export function neck(w: Weights, stages: readonly Tensor[], probe?: Probe): [Tensor, Tensor, Tensor] {
  return tf.tidy(() => {
    const lateral = (level: number): Tensor => {
      // Stored coarsest first.
      const path = `${SAM}.image_encoder.neck.convs.${stages.length - 1 - level}.conv`;
      return conv2d(stages[level] as Tensor, w.get(`${path}.weight`), w.get(`${path}.bias`), 1, 0);
    };
    const coarse = lateral(3);
    probe?.("neck.lateral.0", coarse);
    const levels: [Tensor, Tensor, Tensor] = [lateral(0), lateral(1), lateral(2).add(nearestTwice(coarse))];
    levels.forEach((level, index) => {
      probe?.(`fpn.${index}`, level);
    });
    return levels;
  });
}

/**
 * SAM2's maps of a video frame.
 * @param pixels [1, S, S, 3] normalised
 * @returns tensors the caller owns
 */
export function* encodeFrame(w: Weights, config: Sam2Config, pixels: Tensor, probe?: Probe): Paced<FrameMaps> {
  const stages = yield* hiera(w, config, pixels, probe);
  const [f4, f8, f16] = neck(w, stages, probe);
  tf.dispose(stages);
  return { f16, f8, f4 };
}

/**
 * The features of a picture, or of a prompted frame: the no-memory embedding is added. @returns the caller owns `f16`
 */
export function withoutMemory(w: Weights, maps: FrameMaps): SamFeatures {
  return { ...maps, f16: tf.tidy(() => maps.f16.add(w.get(`${SAM}.no_mem_embed`))) };
}

/**
 * SAM2's features of one image.
 * @param pixels [1, S, S, 3] normalised
 * @returns tensors the caller owns
 */
export function* encodeSam(w: Weights, config: Sam2Config, pixels: Tensor, probe?: Probe): Paced<SamFeatures> {
  const maps = yield* encodeFrame(w, config, pixels, probe);
  const features = withoutMemory(w, maps);
  maps.f16.dispose();
  return features;
}
