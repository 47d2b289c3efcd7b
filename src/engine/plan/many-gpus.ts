/**
 * Models the time of a step in the package for many GPUs (docs/scale-out.md). Nothing in it was measured on a GPU: it
 * counts tokens, multiplies them by the work per token, and divides by a share of a card's published rate.
 */

import { groupsPerStep, needsReference } from "../config/derived.ts";
import type { LabConfig } from "../config/table.ts";

export interface Card {
  readonly name: string;
  /** Published dense bf16 rate, operations per second. */
  readonly flops: number;
}
export const CARDS: readonly Card[] = [
  { name: "A100", flops: 312e12 },
  { name: "H100", flops: 989e12 },
];
/** Assumed share of the published rate that a step reaches. */
const REACHED = 0.4;
/** Seconds for one token through one layer without CUDA graphs, limited by kernel launches. */
const LAYER_SECONDS = 0.75e-3;
/** Cost of a forward and a backward pass with recomputed activations, in forward passes. */
const LEARNING = 3.2;
/** Visual tokens of a tile, and text tokens of a prompt. */
const TILE_TOKENS = 256;
const PROMPT_WORDS = 100;
/** Parameters of towers, embedding and head, which are not in the decoder's matrices. */
const BESIDE = 0.8e9;
const LAYERS = 32;

/** What the time of a step depends on. */
export interface StepShape {
  /** Multiply-adds of a token in the decoder's matrices. */
  readonly language: number;
  readonly layers: number;
  /** Trainable parameters. */
  readonly trained: number;
}

/** Sizes estimated from the number of parameters, for a run whose model is not open; assumes 32 layers. */
export function shapeOf(parameters: number, trained: number): StepShape {
  return { language: Math.max(parameters - BESIDE, 0.3 * parameters), layers: LAYERS, trained };
}

export interface StepTime {
  readonly decode: number;
  readonly compute: number;
  /** Seconds to sum the gradients between machines, once per step. */
  readonly sum: number;
  readonly seconds: number;
}

/**
 * Seconds of a step of both loops with cached towers. A process decodes its groups in turn.
 * @param network bytes per second between machines; Infinity within one machine
 */
export function manyGpuStep(
  shape: StepShape,
  config: LabConfig,
  gpus: number,
  card: Card,
  network = Number.POSITIVE_INFINITY,
): StepTime {
  const groups = Math.ceil(groupsPerStep(config) / gpus);
  const work = stepTokens(config);
  const decode = groups * (config.maxNewTokens + config.partnerMaxTokens) * shape.layers * LAYER_SECONDS;
  const compute = (groups * work * 2 * shape.language) / (REACHED * card.flops);
  const sum = (4 * shape.trained) / network;
  return { decode, compute, sum, seconds: decode + compute + sum };
}

/** Tokens through the decoder for one group of each loop; a backward pass counts as `LEARNING` forward passes. */
export function stepTokens(config: LabConfig): number {
  const tiles = config.maxTiles > 1 ? config.maxTiles + 1 : 1;
  const prompt = tiles * TILE_TOKENS + PROMPT_WORDS;
  const caption = prompt + config.groupSize * config.maxNewTokens;
  const described = prompt + config.groupSize * config.partnerMaxTokens;
  const again = (needsReference(config) ? 1 : 0) + config.iterations * LEARNING;
  return caption + prompt + again * caption + (prompt + described + again * prompt);
}
