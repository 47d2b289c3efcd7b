/**
 * Tracks through a whole clip frame by frame: conditioning frames first, then forward to the end, then back to the
 * beginning (docs/spec/video.md#1-path). One frame's features are on the GPU at a time.
 */
import { badInput } from "../../../errors.ts";
import type { Tensor } from "../../../gpu/tf.ts";
import { tf } from "../../../gpu/tf.ts";
import type { Weights } from "../../weights/weights.ts";
import type { Sam2Config } from "../config.ts";
import type { FrameMaps } from "../neck.ts";
import type { FrameMasks } from "./frame-masks.ts";
import type { GivenMask } from "./mask-prompt.ts";
import type { StoredTensor } from "./memory-bank.ts";
import { Tracker } from "./tracker.ts";
import { SAM } from "./video-shapes.ts";

/** Path of the fine-tuned decoder in checkpoints of Sa2VA-i, whose other decoder is SAM2's. */
export const TUNED_DECODER = `${SAM}.sam_mask_decoder_modified`;

export interface ClipFeatures {
  /** Frames of the clip. */
  readonly total: number;
  /** Features of a frame, owned by the caller. Called once per frame, in processing order. */
  maps(frame: number): Promise<FrameMaps>;
}

/** The prompt that defines the objects of a clip. */
export type ClipPrompt =
  | {
      readonly kind: "language";
      /** Conditioning frames, ascending. */
      readonly frames: readonly number[];
      /** One language prompt per object, the same for all these frames, [B, C]; not disposed. */
      readonly lang: Tensor;
    }
  | {
      readonly kind: "masks";
      /** For each conditioning frame, one mask per object. */
      readonly masks: ReadonlyMap<number, readonly GivenMask[]>;
    };

/** The stored state of an unfinished clip. */
export interface StoredTracking {
  /** Number of finished frames, in processing order. */
  readonly done: number;
  /** Tensors of the bank. */
  readonly tensors: readonly StoredTensor[];
}

export interface ClipOptions {
  /** Whether masks of absent objects become empty on tracked frames. */
  readonly blank: boolean;
  /** Continues after these frames. */
  readonly resume?: StoredTracking | undefined;
}

export interface ClipStep {
  readonly frame: number;
  /** Owned by the receiver. */
  readonly masks: FrameMasks;
  /** Bytes of the bank after this frame. */
  readonly bankBytes: number;
  /** Reads back the state after this frame; call it before the next frame is requested. */
  save(): Promise<StoredTracking>;
}

/**
 * Frames in processing order.
 * @param conditioning ascending
 */
export function clipOrder(total: number, conditioning: readonly number[]): number[] {
  const first = conditioning[0] ?? 0;
  const others = Array.from({ length: total }, (_, frame) => frame).filter((frame) => !conditioning.includes(frame));
  const before = others.filter((frame) => frame < first).reverse();
  return [...conditioning, ...others.filter((frame) => frame > first), ...before];
}

/**
 * Masks of every frame of a clip, in processing order. The caller may stop after any frame; results so far stay valid.
 * @throws LabError("bad-input") without a conditioning frame, or for one outside the clip
 */
export async function* followClip(
  w: Weights,
  config: Sam2Config,
  clip: ClipFeatures,
  prompt: ClipPrompt,
  { blank, resume }: ClipOptions,
): AsyncGenerator<ClipStep> {
  const prompted = prompt.kind === "language" ? [...prompt.frames] : [...prompt.masks.keys()].sort((a, b) => a - b);
  checkFrames(clip.total, prompted);
  const order = clipOrder(clip.total, prompted);
  const first = prompted[0] as number;
  const tracker = new Tracker(w, config, { total: clip.total, blank });
  try {
    tracker.bank.restore(resume?.tensors ?? []);
    for (let at = resume?.done ?? 0; at < order.length; at++) {
      const frame = order[at] as number;
      const reverse = frame < first;
      // The backward direction starts from the conditioning frames alone.
      if (frame === first - 1) tracker.bank.forgetRecent();
      const maps = await clip.maps(frame);
      let masks: FrameMasks;
      try {
        if (at >= prompted.length) masks = tracker.track(frame, maps, reverse);
        else if (prompt.kind === "language") masks = tracker.condition(frame, maps, prompt.lang);
        else masks = tracker.conditionMasks(frame, maps, prompt.masks.get(frame) ?? []);
      } finally {
        tf.dispose([maps.f16, maps.f8, maps.f4]);
      }
      const save = async (): Promise<StoredTracking> => ({ done: at + 1, tensors: await tracker.bank.save() });
      yield { frame, masks, bankBytes: tracker.bank.bytes, save };
    }
  } finally {
    tracker.dispose();
  }
}

function checkFrames(total: number, prompted: readonly number[]): void {
  if (total < 1) throw badInput("The clip has no frames; nothing was tracked");
  if (prompted.length === 0) throw badInput("No frame of the clip has a prompt; nothing was tracked");
  const wrong = prompted.find((frame) => !Number.isInteger(frame) || frame < 0 || frame >= total);
  if (wrong === undefined) return;
  throw badInput(`Frame ${wrong} has a prompt, but the clip has frames 0 to ${total - 1}; nothing was tracked`);
}
