/** Bytes of a model's weights and of training's copies of them, computed from sizes; nothing has to be loaded. */

import { loraShapes } from "../model/adapter/lora.ts";
import { isTrainableBase, TRAINABLE_BLOCKS, type TrainableBlock, trainableBlock } from "../model/adapter/trainable.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { isTowerTensor } from "../model/families/registry.ts";
import { sam2Shapes } from "../model/sam2-shapes.ts";
import { type StorageChoice, weightBytes } from "../model/weights/storage-choice.ts";
import { expectedShapes, type NamedShape } from "../model/weights/tensor-shapes.ts";

const F32 = 4;

export interface WeightForecast {
  /** Number of parameters by part, for the parts that pictures use. */
  readonly parameters: Readonly<Record<WeightPart, number>>;
  /** Bytes of frozen weights in their storage. */
  readonly frozenBytes: number;
  /** Bytes of the published tensors that training replaces by default; always f32. */
  readonly publishedBytes: number;
}

export type WeightPart =
  | "vision"
  | "projector"
  | "language"
  | "embedding"
  | "seg-prompt"
  | "sam-encoder"
  | "mask-decoder"
  | "prompt-encoder";

const known = new WeakMap<Sa2vaConfig, readonly NamedShape[]>();

/** Names and shapes of the tensors that pictures use, without those that only video uses. */
export function modelShapes(config: Sa2vaConfig): readonly NamedShape[] {
  const shapes = known.get(config) ?? [...expectedShapes(config), ...sam2Shapes(config.sam2, config.decoderSizes)];
  known.set(config, shapes);
  return shapes;
}

export function weightForecast(config: Sa2vaConfig, choice: StorageChoice): WeightForecast {
  const parameters: Record<WeightPart, number> = {
    vision: 0,
    projector: 0,
    language: 0,
    embedding: 0,
    "seg-prompt": 0,
    "sam-encoder": 0,
    "mask-decoder": 0,
    "prompt-encoder": 0,
  };
  let [frozenBytes, publishedBytes] = [0, 0];
  for (const [name, shape] of modelShapes(config)) {
    parameters[partOf(name)] += elements(shape);
    if (!isTrainableBase(name)) frozenBytes += weightBytes(name, shape, choice);
    else publishedBytes += F32 * elements(shape);
  }
  return { parameters, frozenBytes, publishedBytes };
}

export interface TrainableForecast {
  /** Trainable parameters by block. */
  readonly blocks: Readonly<Record<TrainableBlock, number>>;
  readonly parameters: number;
}

/** @param rank of the adapter @param trained the blocks that train */
export function trainableForecast(
  config: Sa2vaConfig,
  rank: number,
  trained: readonly TrainableBlock[] = TRAINABLE_BLOCKS,
): TrainableForecast {
  const blocks: Record<TrainableBlock, number> = {
    projector: 0,
    lora: loraShapes(config.language, rank).reduce((sum, { shape }) => sum + elements(shape), 0),
    "seg-prompt": 0,
    "mask-decoder": 0,
    "prompt-encoder": 0,
  };
  for (const [name, shape] of modelShapes(config)) {
    const block = trainableBlock(name);
    if (block !== undefined && trained.includes(block)) blocks[block] += elements(shape);
  }
  return { blocks, parameters: Object.values(blocks).reduce((sum, count) => sum + count, 0) };
}

/** The part of the model that a stored tensor belongs to. */
export function partOf(name: string): WeightPart {
  const block = trainableBlock(name);
  if (block !== undefined) return block;
  if (isTowerTensor(name)) return "vision";
  if (name.includes("sam_prompt_encoder")) return "prompt-encoder";
  if (name.startsWith("grounding_encoder.")) return "sam-encoder";
  return /\.(embed_tokens|tok_embeddings|lm_head|output)\.weight$/.test(name) ? "embedding" : "language";
}

export function elements(shape: readonly number[]): number {
  return shape.reduce((product, side) => product * side, 1);
}
