/** The cost of following objects through a clip, computed from sizes (docs/spec/video.md#13-cost). */
import type { Sam2Config } from "../../engine/model/sam2/config.ts";
import { product } from "../../engine/plan/work.ts";
import { POINTER_FRAMES } from "./sam2/memory-bank.ts";
import { MASK_CHANNELS } from "./sam2/video-shapes.ts";

/** Operations of one tracked frame, 2 per multiply-add. */
interface FrameWork {
  readonly attention: number;
  readonly memoryEncoder: number;
}

/** Bytes that do not depend on the length of the clip. */
interface BankBytes {
  /** One memory map of one object. */
  readonly memory: number;
  /** Maximum kept for one object. */
  readonly bank: number;
  /** Scores of one cross-attention if all were stored: the reason why attention works in runs. */
  readonly scores: number;
}

/**
 * Maximum number of maps that a tracked frame reads.
 * @param conditioning number of conditioning frames
 */
export function mapsRead(config: Sam2Config, conditioning: number): number {
  return conditioning + config.memory.maps - 1;
}

/**
 * Maximum number of object pointers that a tracked frame reads.
 * @param conditioning number of conditioning frames
 */
export function pointersRead(conditioning: number): number {
  return conditioning + POINTER_FRAMES - 1;
}

/** @param maps number that the frame reads @param pointers number that it reads, each of C / M tokens */
export function trackingWork(config: Sam2Config, maps: number, pointers: number): FrameWork {
  const { hiddenDim: width, memory, imageSize } = config;
  const cells = (imageSize / 16) ** 2;
  const keys = maps * cells + (pointers * width) / memory.dim;
  const self = 4 * product(cells, width, width) + 4 * cells * cells * width;
  const cross = 2 * product(cells, width, width) + 2 * product(keys, memory.dim, width) + 4 * cells * keys * width;
  const feedForward = 2 * product(cells, width, memory.mlp);
  const steps = MASK_CHANNELS.slice(1).reduce((sum, out, at) => {
    const places = (imageSize / 2 ** (at + 1)) ** 2;
    return sum + product(places, 9 * (MASK_CHANNELS[at] as number), out);
  }, 0);
  const point = product(cells, MASK_CHANNELS.at(-1) as number, width) + product(cells, width, width + memory.dim);
  const fuser = 2 * (2 * cells * 49 * width + 2 * product(cells, width, 4 * width));
  return { attention: memory.layers * (self + cross + feedForward), memoryEncoder: steps + point + fuser };
}

/** @param conditioning number of conditioning frames */
export function bankBytes(config: Sam2Config, conditioning: number): BankBytes {
  const cells = (config.imageSize / 16) ** 2;
  const memory = 4 * cells * config.memory.dim;
  const maps = mapsRead(config, conditioning);
  const pointers = 4 * config.hiddenDim * pointersRead(conditioning);
  return { memory, bank: maps * memory + pointers, scores: 4 * cells * maps * cells };
}
