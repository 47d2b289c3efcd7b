/** Masklets: objects followed through the frames of a clip (docs/spec/video.md#6-tracked-frames). */
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Probe } from "../../probe.ts";
import type { Weights } from "../../weights/weights.ts";
import type { Sam2Config } from "../config.ts";
import type { FrameMaps } from "../neck.ts";
import { type FrameMasks, promptedMasks, trackedMasks } from "./frame-masks.ts";
import { type GivenMask, givenMasks } from "./mask-prompt.ts";
import { disposeConstants, type MemoryConstants, memoryAttention, memoryConstants } from "./memory-attention.ts";
import { type FramePlace, MemoryBank } from "./memory-bank.ts";
import { encodeMemory } from "./memory-encoder.ts";
import { SAM } from "./video-shapes.ts";

export interface TrackerOptions {
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
