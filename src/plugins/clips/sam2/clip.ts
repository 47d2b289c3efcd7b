/**
 * Tracks through a whole clip frame by frame: conditioning frames first, then forward to the end, then back to the
 * beginning (docs/spec/video.md#1-path). One frame's features are on the GPU at a time.
 */

import { badInput } from "../../../engine/errors.ts";
import { gelu } from "../../../engine/gpu/kernels/activation.ts";
import { conv2d } from "../../../engine/gpu/kernels/conv.ts";
import { layerNorm } from "../../../engine/gpu/kernels/norm.ts";
import { repeatRows } from "../../../engine/gpu/kernels/repeat.ts";
import { countWork } from "../../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../engine/gpu/tf.ts";
import type { Probe } from "../../../engine/model/probe.ts";
import type { Sam2Config } from "../../../engine/model/sam2/config.ts";
import type { FrameMaps } from "../../../engine/model/sam2/hiera.ts";
import { samSizeLogits } from "../../../engine/model/sam2/postprocess.ts";
import { activatedLayer, linearLayer } from "../../../engine/model/weights/linear-layer.ts";
import type { Weights } from "../../../engine/model/weights/weights.ts";
import { type FrameMasks, promptedMasks, trackedMasks } from "./frame-masks.ts";
import { type GivenMask, givenMasks } from "./mask-prompt.ts";
import { disposeConstants, type MemoryConstants, memoryAttention, memoryConstants } from "./memory-attention.ts";
import { type FramePlace, MemoryBank, type StoredTensor } from "./memory-bank.ts";
import { MASK_CHANNELS, SAM } from "./video-shapes.ts";

// Encodes a frame's features and mask as a memory of the frame (docs/spec/video.md#4-memory-encoder).

const NORM_EPS = 1e-6;
/** The encoder reads mask values of `SCALE` · sigmoid(logit) + `BIAS`. */
const SCALE = 20;
const BIAS = -10;
const FUSER_LAYERS = 2;

/**
 * @param f16 the frame's map without the no-memory embedding, [1, h, w, C]
 * @param lowRes logits of the selected masks, [B, 4h, 4w]
 * @param size SAM2's input side
 * @returns [B, h, w, M], owned by the caller or its tidy
 */
export function encodeMemory(w: Weights, f16: Tensor, lowRes: Tensor, size: number, probe?: Probe): Tensor {
  const path = `${SAM}.memory_encoder`;
  return tf.tidy(() => {
    const [batch] = lowRes.shape as [number];
    const large = samSizeLogits(lowRes, size).reshape([batch, size, size, 1]);
    const mask = maskFeatures(w, `${path}.mask_downsampler.encoder`, large.sigmoid().mul(SCALE).add(BIAS), probe);
    probe?.("memory_encoder.down.12", mask);
    const picture = point(w, `${path}.pix_feat_proj`, f16);
    probe?.("memory_encoder.pix_feat_proj", picture);
    let x = mask.add(repeatRows(picture, batch));
    for (let layer = 0; layer < FUSER_LAYERS; layer++) {
      x = x.add(fuserBranch(w, `${path}.fuser.layers.${layer}`, x));
      probe?.(`memory_encoder.fuser.${layer}`, x);
    }
    return point(w, `${path}.out_proj`, x);
  });
}

/** Four convolutions of stride 2, then one to the features' number of channels: [B, S, S, 1] → [B, S/16, S/16, C]. */
function maskFeatures(w: Weights, path: string, mask: Tensor, probe: Probe | undefined): Tensor {
  let x = mask;
  for (let step = 0; step < MASK_CHANNELS.length - 1; step++) {
    const [conv, norm] = [`${path}.${3 * step}`, `${path}.${3 * step + 1}`];
    const y = conv2d(x, w.get(`${conv}.weight`), w.get(`${conv}.bias`), 2, 1);
    probe?.(`memory_encoder.down.${3 * step}`, y);
    x = gelu(layerNorm(y, w.get(`${norm}.weight`), w.get(`${norm}.bias`), NORM_EPS));
  }
  return point(w, `${path}.12`, x);
}

/** 7 × 7 depth-wise convolution, norm, two linear layers, and a factor per channel. */
function fuserBranch(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => {
    const weight = w.get(`${path}.dwconv.weight`);
    countWork((x.size * weight.size) / (weight.shape[0] as number));
    const kernel = weight.transpose([2, 3, 0, 1]) as tf.Tensor4D;
    const mixed = tf.depthwiseConv2d(x as tf.Tensor4D, kernel, 1, "same").add(w.get(`${path}.dwconv.bias`));
    const normed = layerNorm(mixed, w.get(`${path}.norm.weight`), w.get(`${path}.norm.bias`), NORM_EPS);
    const hidden = activatedLayer(w, `${path}.pwconv1`, normed, "gelu");
    return linearLayer(w, `${path}.pwconv2`, hidden).mul(w.get(`${path}.g_weight`));
  });
}

function point(w: Weights, path: string, x: Tensor): Tensor {
  return conv2d(x, w.get(`${path}.weight`), w.get(`${path}.bias`), 1, 0);
}

// Masklets: objects followed through the frames of a clip (docs/spec/video.md#6-tracked-frames).

interface TrackerOptions {
  /** Frames of the clip. */
  readonly total: number;
  /** Whether masks of absent objects become empty on tracked frames, as in SAM2 and Sa2VA-i but not in Sa2VA. */
  readonly blank: boolean;
}

/** Follows any number of objects at once; its memory does not grow with the clip. */
export class Tracker {
  readonly bank = new MemoryBank();
  private readonly constants: MemoryConstants;
  private readonly w: Weights;
  private readonly config: Sam2Config;
  private readonly options: TrackerOptions;

  constructor(w: Weights, config: Sam2Config, options: TrackerOptions) {
    this.w = w;
    this.config = config;
    this.options = options;
    this.constants = memoryConstants(config);
  }

  /**
   * A conditioning frame with language prompts.
   * @param lang [B, C]
   * @returns masks owned by the caller
   */
  condition(frame: number, maps: FrameMaps, lang: Tensor): FrameMasks {
    return this.conditioned(frame, maps, promptedMasks(this.w, this.config, maps, lang));
  }

  /**
   * A conditioning frame with masks of its objects.
   * @param masks one per object
   * @returns masks owned by the caller
   */
  conditionMasks(frame: number, maps: FrameMaps, masks: readonly GivenMask[]): FrameMasks {
    return this.conditioned(frame, maps, givenMasks(this.w, this.config, maps, masks));
  }

  /**
   * A frame without a prompt, after at least one conditioning frame. Frames come one by one from a conditioning frame
   * on, with `reverse` towards the beginning.
   * @returns masks owned by the caller
   */
  track(frame: number, maps: FrameMaps, reverse = false, probe?: Probe): FrameMasks {
    const place: FramePlace = { frame, total: this.options.total, reverse };
    const remembered = tf.tidy(() => {
      const keys = this.bank.keys(this.w, this.constants, place);
      probe?.("attention.maps", keys.maps);
      probe?.("attention.map_positions", keys.mapPositions);
      probe?.("attention.pointers", keys.pointers);
      if (keys.pointerPositions !== undefined) probe?.("attention.pointer_positions", keys.pointerPositions);
      return memoryAttention(this.w, this.config, this.constants, maps.f16, keys, probe);
    });
    const masks = trackedMasks(this.w, this.config, maps, remembered, this.options.blank);
    remembered.dispose();
    const { maps: codes } = this.config.memory;
    this.bank.remember({ frame, map: this.memoryOf(maps, masks), pointer: masks.pointer.clone() }, codes);
    return masks;
  }

  dispose(): void {
    this.bank.dispose();
    disposeConstants(this.constants);
  }

  private conditioned(frame: number, maps: FrameMaps, masks: FrameMasks): FrameMasks {
    this.bank.condition({ frame, map: this.memoryOf(maps, masks), pointer: masks.pointer.clone() });
    return masks;
  }

  /** [B, cells, M]; SAM 2.1 adds a learned vector if the object is absent. */
  private memoryOf(maps: FrameMaps, { lowRes, score }: FrameMasks): Tensor {
    return tf.tidy(() => {
      const memory = encodeMemory(this.w, maps.f16, lowRes, this.config.imageSize);
      const [batch, height, width, dim] = memory.shape as [number, number, number, number];
      const cells = memory.reshape([batch, height * width, dim]);
      const absent = this.w.find(`${SAM}.no_obj_embed_spatial`);
      if (absent === undefined) return cells;
      const gone = score.lessEqual(0).toFloat().reshape([batch, 1, 1]);
      return cells.add(gone.mul(absent.reshape([1, 1, dim])));
    });
  }
}

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
