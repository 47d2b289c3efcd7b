/** From prompts of the mask decoder to masklets at the size of the clip (docs/spec/video.md#9-consistent-decoder). */
import { encodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import type { RgbImage } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { inPace } from "../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { resizeBicubic } from "../../engine/model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../engine/model/preprocess/tiling.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import type { Sam2Config } from "../../engine/model/sam2/config.ts";
import { encodeFrame, type FrameMaps, withoutMemory } from "../../engine/model/sam2/hiera.ts";
import { decodeMasks, selectMask } from "../../engine/model/sam2/mask-decoder.ts";
import { readMasks } from "../../engine/model/sam2/postprocess.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import {
  type ClipFeatures,
  type ClipPrompt,
  type ClipStep,
  followClip,
  type StoredTracking,
  TUNED_DECODER,
} from "./sam2/clip.ts";
import { disposeFrameMasks, type FrameMasks, promptedMasks } from "./sam2/frame-masks.ts";
import type { GivenMask } from "./sam2/mask-prompt.ts";

/**
 * `published`: as in the Sa2VA release, the decoder that was fine-tuned on single frames also decodes frames with
 * memory. `consistent`: as in Sa2VA-i, it decodes only the chosen frames, and SAM2's tracker follows its masks.
 * `alone`: every frame is decoded with the prompt and without memory, as in training; a model without memory tensors
 * can do this.
 */
export const CLIP_DECODERS = ["published", "consistent", "alone"] as const;
export type ClipDecoder = (typeof CLIP_DECODERS)[number];

/** The pictures of a clip, decoded on request. */
export interface ClipPictures {
  readonly total: number;
  readonly height: number;
  readonly width: number;
  picture(frame: number): Promise<RgbImage>;
}

/** Masks of all objects on one frame. */
export interface FrameResult {
  readonly frame: number;
  /** One per object, of the frame's size. */
  readonly masks: readonly Rle[];
  /** Logit that each object is present; its sign is not calibrated in Sa2VA. */
  readonly scores: readonly number[];
  readonly bankBytes: number;
  save(): Promise<StoredTracking>;
}

interface MaskletOptions {
  /** Used for language prompts; given masks are always followed by SAM2's tracker. */
  readonly decoder: ClipDecoder;
  readonly signal: AbortSignal;
  readonly resume?: StoredTracking | undefined;
}

/**
 * Follows the objects of a prompt through a clip; frames come in processing order. The caller may stop after any frame.
 * @throws LabError("bad-input") naming a frame of another size; LabError("cancelled") when the signal is aborted before
 * the first frame
 */
export async function* masklets(
  model: Sa2vaModel,
  weights: Weights,
  pictures: ClipPictures,
  prompt: ClipPrompt,
  { decoder, signal, resume }: MaskletOptions,
): AsyncGenerator<FrameResult> {
  const { sam2 } = model.config;
  const { height, width, total } = pictures;
  const maps = async (frame: number): Promise<FrameMaps> => {
    const rgb = await pictures.picture(frame);
    if (rgb.height !== height || rgb.width !== width) {
      throw badInput(
        `Frame ${frame} is ${rgb.width} x ${rgb.height}, the clip began with ${width} x ${height}; finished frames are kept`,
      );
    }
    const side = sam2.imageSize;
    const pixels = tf.tensor4d(normalisePixels(resizeBicubic(rgb, side, side).data), [1, side, side, 3]);
    // A stop comes after the frame, so that what its encoding cost is kept.
    return await inPace(encodeFrame(weights, sam2, pixels)).finally(() => pixels.dispose());
  };
  const asks = async (): Promise<ClipPrompt> => {
    if (prompt.kind === "masks" || decoder === "published") return prompt;
    return { kind: "masks", masks: await firstMasks(model, weights, pictures, maps, prompt, { signal, resume }) };
  };
  const alone = prompt.kind === "language" && decoder === "alone";
  const steps = alone
    ? eachAlone(weights, sam2, { total, maps }, prompt.lang, resume)
    : followClip(weights, sam2, { total, maps }, await asks(), { blank: decoder !== "published", resume });
  for await (const step of steps) {
    const { lowRes, score } = step.masks;
    const [[found = []], scores] = await Promise.all([
      readMasks([{ lowRes, height, width }], sam2.imageSize),
      score.data() as Promise<Float32Array>,
    ]).finally(() => tf.dispose({ ...step.masks }));
    yield {
      frame: step.frame,
      masks: found.map(({ mask }) => encodeRle(mask, height, width)),
      scores: [...scores],
      bankBytes: step.bankBytes,
      save: step.save,
    };
  }
}

type AloneStep = Omit<ClipStep, "masks"> & { readonly masks: Pick<FrameMasks, "lowRes" | "score"> };

/** Masks of every frame by the language prompt, in the order of the clip. */
async function* eachAlone(
  weights: Weights,
  config: Sam2Config,
  { total, maps }: ClipFeatures,
  lang: Tensor,
  resume: StoredTracking | undefined,
): AsyncGenerator<AloneStep> {
  for (let frame = resume?.done ?? 0; frame < total; frame++) {
    const { f16, f8, f4 } = await maps(frame);
    let masks: AloneStep["masks"];
    try {
      masks = tf.tidy(() => {
        const found = decodeMasks(weights, config, withoutMemory(weights, { f16, f8, f4 }), lang);
        return { lowRes: selectMask(found.masks, found.iou).mask, score: found.objectScore };
      });
    } finally {
      tf.dispose([f16, f8, f4]);
    }
    yield { frame, masks, bankBytes: 0, save: async () => ({ done: frame + 1, tensors: [] }) };
  }
}

/**
 * Masks of the chosen frames, each decoded alone and enlarged in one step. Uses the fine-tuned decoder, which is the
 * checkpoint's second one, or its only one.
 */
async function firstMasks(
  model: Sa2vaModel,
  weights: Weights,
  { height, width }: ClipPictures,
  maps: (frame: number) => Promise<FrameMaps>,
  { lang, frames }: Extract<ClipPrompt, { readonly kind: "language" }>,
  { signal, resume }: Pick<MaskletOptions, "signal" | "resume">,
): Promise<ReadonlyMap<number, readonly GivenMask[]>> {
  const tuned = weights.find(`${TUNED_DECODER}.iou_token.weight`) === undefined ? undefined : TUNED_DECODER;
  const given = new Map<number, readonly GivenMask[]>();
  for (const [at, frame] of frames.entries()) {
    if (at < (resume?.done ?? 0)) {
      // The stored bank already has its memory.
      given.set(frame, []);
      continue;
    }
    if (signal.aborted) throw new LabError("cancelled", `Decoding was stopped before frame ${frame}; nothing is kept`);
    const features = await maps(frame);
    const found = promptedMasks(weights, model.config.sam2, features, lang, tuned);
    const [, side] = found.lowRes.shape as [number, number];
    const [masks = []] = await readMasks([{ lowRes: found.lowRes, height, width }], side).finally(() => {
      disposeFrameMasks(found);
      tf.dispose([features.f16, features.f8, features.f4]);
    });
    const decoded = masks.map(({ mask }) => ({ data: mask, height, width }));
    given.set(frame, decoded);
  }
  return given;
}
