/**
 * The tensors that training changes, by full path. The set is derived from the configuration and compared with the
 * checkpoint, because a freeze rule that matches nothing would otherwise go unnoticed (reference:
 * docs/spec/sa2va.md#18-supervised-training-recipe,
 * docs/spec/sa2va.md#19-reinforcement-learning-on-sa2va-as-found-in-public-code).
 */
import { LabError } from "../../errors.ts";
import type { Sa2vaConfig } from "../config.ts";
import { FROZEN_PROJECTORS, PROJECTORS, visionFamily } from "../families/registry.ts";
import { languageLinears } from "../language/language-families.ts";
import { loraShapes } from "./lora.ts";

/** Parts of the model that train together, in the order of the forward pass. */
export type TrainableBlock = "projector" | "lora" | "seg-prompt" | "mask-decoder" | "prompt-encoder";

/** Beginnings of the names of a block's stored tensors; adapters are not stored in a checkpoint. */
const PREFIXES: Readonly<Record<Exclude<TrainableBlock, "lora">, readonly string[]>> = {
  projector: PROJECTORS,
  "seg-prompt": ["text_hidden_fcs."],
  "mask-decoder": ["grounding_encoder.sam2_model.sam_mask_decoder."],
  "prompt-encoder": ["grounding_encoder.sam2_model.sam_prompt_encoder."],
};
export const TRAINABLE_BLOCKS: readonly TrainableBlock[] = [
  "projector",
  "lora",
  "seg-prompt",
  "mask-decoder",
  "prompt-encoder",
];

/** Whether a block is on the language side, which loop 1 trains. The others make masks. */
export function isLanguageBlock(block: string): boolean {
  return block.startsWith("lora") || block === "projector";
}

/** Stored with the parameters but never trained. */
const BUFFER = /\.positional_encoding_gaussian_matrix$/;

interface TrainableTensor {
  readonly path: string;
  readonly block: TrainableBlock;
}

interface TrainableOptions {
  /** Rank of the adapter; 0 for none. */
  readonly loraR: number;
  /** Blocks that train; all by default. */
  readonly blocks?: readonly TrainableBlock[];
}

/**
 * The blocks that train.
 * @param projector whether the projector does; "auto" as in the published training of the model's family
 */
export function trainableBlocks(
  config: Pick<Sa2vaConfig, "family">,
  projector: "auto" | "yes" | "no",
): readonly TrainableBlock[] {
  const trains = projector === "auto" ? visionFamily(config).trainsProjector : projector === "yes";
  return TRAINABLE_BLOCKS.filter((block) => trains || block !== "projector");
}

/** The block that a stored tensor belongs to; undefined if the tensor is always frozen. */
export function trainableBlock(name: string): Exclude<TrainableBlock, "lora"> | undefined {
  if (BUFFER.test(name)) return undefined;
  for (const [block, prefixes] of Object.entries(PREFIXES)) {
    if (prefixes.some((prefix) => name.startsWith(prefix))) return block as keyof typeof PREFIXES;
  }
  return undefined;
}

/** Whether a tensor of the checkpoint belongs to a part that training changes by default. It is held in f32. */
export function isTrainableBase(name: string): boolean {
  return trainableBlock(name) !== undefined && !FROZEN_PROJECTORS.some((prefix) => name.startsWith(prefix));
}

/**
 * The trainable set, block by block.
 * @param names tensors of the checkpoint
 * @throws LabError("bad-config") when a block has another number of tensors in the checkpoint than the configuration
 * implies, or when nothing would train
 */
export function trainableSet(
  config: Sa2vaConfig,
  names: Iterable<string>,
  options: TrainableOptions,
): TrainableTensor[] {
  const wanted = options.blocks ?? TRAINABLE_BLOCKS;
  const stored = [...names].sort((a, b) => (a < b ? -1 : 1));
  const found: TrainableTensor[] = [];
  for (const block of TRAINABLE_BLOCKS) {
    if (!wanted.includes(block)) continue;
    const paths = block === "lora" ? adapterPaths(config, options.loraR) : storedPaths(stored, block);
    const declared = declaredCount(config, block, options.loraR);
    if (paths.length !== declared) {
      throw new LabError(
        "bad-config",
        `The trainable block "${block}" should have ${declared} tensors, the checkpoint has ${paths.length}; nothing was changed`,
        { subject: block },
      );
    }
    found.push(...paths);
  }
  if (found.length === 0) {
    throw new LabError("bad-config", "No part of the model is set to train", { subject: "trainable blocks" });
  }
  return found;
}

function adapterPaths(config: Sa2vaConfig, rank: number): TrainableTensor[] {
  if (rank === 0) return [];
  return loraShapes(config.language, rank).map(({ name }) => ({ path: name, block: "lora" }));
}

function storedPaths(names: readonly string[], block: TrainableBlock): TrainableTensor[] {
  return names.filter((name) => trainableBlock(name) === block).map((path) => ({ path, block }));
}

/** Number of tensors in a block, by the sizes in config.json (docs/spec/sa2va.md#4-tensor-names-and-shapes). */
function declaredCount(config: Sa2vaConfig, block: TrainableBlock, rank: number): number {
  switch (block) {
    case "projector":
      return visionFamily(config)
        .shapes(config)
        .filter(([name]) => trainableBlock(name) === block).length;
    case "seg-prompt":
      return 4;
    case "lora":
      return rank === 0 ? 0 : 2 * languageLinears(config.language).length;
    case "mask-decoder": {
      const attention = 4 * 2;
      const norm = 2;
      const layer = 3 * attention + 2 * 2 + 4 * norm;
      const transformer = config.sam2.decoderDepth * layer + attention + norm;
      const tokens = 3;
      const upscaling = 3 * 2;
      const highResolution = 2 * 2;
      const heads = (MASK_TOKENS + 2) * 3 * 2;
      return tokens + transformer + upscaling + highResolution + heads;
    }
    case "prompt-encoder":
      return NO_POINT_AND_NO_MASK + POINT_EMBEDDINGS + MASK_DOWNSCALING;
  }
}

const MASK_TOKENS = 4;
const NO_POINT_AND_NO_MASK = 2;
const POINT_EMBEDDINGS = 4;
/** Three convolutions and two norms, weight and bias each. */
const MASK_DOWNSCALING = 10;
