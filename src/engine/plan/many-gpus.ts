/**
 * A model of a step's time in the package for many GPUs (docs/scale-out.md). Nothing in it was measured on a GPU: it
 * counts tokens and multiplies them with the work of one, at a share of a card's published rate.
 */

import { groupsPerStep, needsReference } from "../config/derived.ts";
import type { LabConfig } from "../config/table.ts";

export interface Card {
  readonly name: string;
  /** Published dense rate in bf16, operations a second. */
  readonly flops: number;
}
export const CARDS: readonly Card[] = [
  { name: "A100", flops: 312e12 },
  { name: "H100", flops: 989e12 },
];
/** Share of the published rate that is reached. */
const REACHED = 0.4;
/** One token through one layer without CUDA graphs, bound by launches, in seconds. */
const LAYER_SECONDS = 0.75e-3;
/** A backward pass with recomputed activations, in forward passes, the forward pass included. */
const LEARNING = 3.2;
/** The picture of a tile and the words of a prompt, in tokens. */
const TILE_TOKENS = 256;
const PROMPT_WORDS = 100;
/** Towers, embedding and head, which a token does not pass. */
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

/** Sizes by the number of parameters alone, for a run whose model is not open: 32 layers. */
export function shapeOf(parameters: number, trained: number): StepShape {
  return { language: Math.max(parameters - BESIDE, 0.3 * parameters), layers: LAYERS, trained };
}

export interface StepTime {
  readonly decode: number;
  readonly compute: number;
  /** The one sum of gradients between machines. */
  readonly sum: number;
  readonly seconds: number;
}

/**
 * Seconds of a step of both loops with cached towers. A process decodes its groups in turn.
 * @param network bytes a second between machines; Infinity within one
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

/** Tokens that pass the decoder for a group of each loop, those of a backward pass counted as its forward passes. */
export function stepTokens(config: LabConfig): number {
  const tiles = config.maxTiles > 1 ? config.maxTiles + 1 : 1;
  const prompt = tiles * TILE_TOKENS + PROMPT_WORDS;
  const caption = prompt + config.groupSize * config.maxNewTokens;
  const described = prompt + config.groupSize * config.partnerMaxTokens;
  const again = (needsReference(config) ? 1 : 0) + config.iterations * LEARNING;
  return caption + prompt + again * caption + (prompt + described + again * prompt);
}
