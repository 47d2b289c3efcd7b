/**
 * A loaded Sa2VA: tokenizer, configuration and published tensors, with the frozen ones separate from those that
 * training changes. The code is the same for every size, from the pocket model to 4B.
 */
import type { ByteFolder } from "../bytes/source.ts";
import { badInput } from "../errors.ts";
import type { Tensor } from "../gpu/tf.ts";
import { openTokenizer, type Tokenizer, vocabularyFile } from "../text/tokenizer.ts";
import { isTrainableBase } from "./adapter/trainable.ts";
import type { Sa2vaConfig } from "./config.ts";
import type { TilingConfig } from "./preprocess/tiling.ts";
import { openCheckpoint, type VideoShapes } from "./weights/checkpoint.ts";
import { ALL_F32, type StorageChoice } from "./weights/storage-choice.ts";
import { type ConvertOptions, collectWeights, convertCheckpoint, type WeightPiece } from "./weights/weight-pieces.ts";
import { disposeWeights, type FrozenWeights, type Matrix, tensorsOf } from "./weights/weights.ts";

export interface Sa2vaModel {
  readonly name: string;
  readonly config: Sa2vaConfig;
  readonly tiling: TilingConfig;
  readonly tokenizer: Tokenizer;
  /** Shared by policy, partner and reference. */
  readonly frozen: FrozenWeights;
  /** Published tensors of the modules that train by default (projector, [SEG] prompt, mask decoder, prompt encoder). */
  readonly base: ReadonlyMap<string, Tensor>;
  readonly storage: StorageChoice;
  readonly parameters: number;
  /** Bytes of the weight files. */
  readonly bytes: number;
  dispose(): void;
}

export interface OpenOptions extends Omit<ConvertOptions, "choice" | "filter" | "skip"> {
  /** Forms of the frozen matrices; f32 by default. */
  readonly choice?: StorageChoice | undefined;
  /** Called once everything except the weights is valid: the moment to free another model, or to refuse by throwing. */
  readonly beforeWeights?: (() => void) | undefined;
  /** The tensors that only clips use, to load them too. */
  readonly video?: VideoShapes | undefined;
}

/** A tensor of the checkpoint, whether training changes it by default or not. */
export function publishedMatrix(
  { base, frozen }: Pick<Sa2vaModel, "base" | "frozen">,
  name: string,
): Matrix | undefined {
  return base.get(name) ?? frozen.get(name);
}

/** A model without its weights. */
type ModelFacts = Pick<Sa2vaModel, "name" | "config" | "tokenizer" | "storage" | "bytes">;

/**
 * Loads a model folder onto the current backend.
 * @param name shown in the page and stored with runs
 * @throws LabError naming the file, tensor or field that is wrong; nothing stays allocated
 */
export async function openSa2va(folder: ByteFolder, name: string, options: OpenOptions = {}): Promise<Sa2vaModel> {
  const checkpoint = await openCheckpoint(folder, options.video);
  const { config, bytes } = checkpoint;
  const tokenizer = await modelTokenizer(folder, config);
  const storage = options.choice ?? ALL_F32;
  options.beforeWeights?.();
  const pieces = convertCheckpoint(checkpoint, { ...options, choice: storage });
  return assembleSa2va({ name, config, tokenizer, storage, bytes }, pieces);
}

/** Maximum rows of an embedding without a token; padding to round sizes adds a few hundred. */
const SPARE_ROWS = 1024;

/**
 * The tokenizer of a model folder.
 * @throws LabError("bad-input") when its ids do not match the rows of the embedding
 */
export async function modelTokenizer(folder: ByteFolder, config: Sa2vaConfig): Promise<Tokenizer> {
  const tokenizer = await openTokenizer(folder);
  const rows = config.language.vocabSize;
  const file = vocabularyFile(folder);
  if (tokenizer.vocabSize > rows) {
    throw badInput(
      `${file}: the tokenizer has ids up to ${tokenizer.vocabSize - 1}, the embedding has only ${rows} rows; nothing was loaded`,
      file,
    );
  }
  if (rows - tokenizer.vocabSize > SPARE_ROWS) {
    throw badInput(
      `${file}: the tokenizer has ${tokenizer.vocabSize} ids, the embedding has ${rows} rows, so the tokenizer is not this model's; nothing was loaded`,
      file,
    );
  }
  return tokenizer;
}

/**
 * A model from its facts and the pieces of its weights.
 * @throws the errors of the pieces; nothing stays allocated then
 */
export async function assembleSa2va(facts: ModelFacts, pieces: AsyncIterable<WeightPiece>): Promise<Sa2vaModel> {
  const weights = await collectWeights(pieces);
  const frozen = new Map<string, Matrix>();
  const trainable = new Map<string, Matrix>();
  let parameters = 0;
  for (const [path, weight] of weights) {
    (isTrainableBase(path) ? trainable : frozen).set(path, weight);
    parameters += weight.size;
  }
  return {
    ...facts,
    tiling: facts.config,
    frozen,
    base: tensorsOf(trainable),
    parameters,
    dispose: () => disposeWeights(weights.values()),
  };
}
