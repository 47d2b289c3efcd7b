/**
 * A loaded Sa2VA: tokenizer, configuration and published tensors, frozen ones apart from those that training changes.
 * One path for every size, from the pocket model to 4B.
 */
import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { openTokenizer, type Tokenizer } from "../text/tokenizer.ts";
import { type LoadProgress, openCheckpoint } from "./checkpoint.ts";
import type { Sa2vaConfig } from "./config.ts";
import type { TilingConfig } from "./preprocess/tiling.ts";
import { isTrainableBase } from "./trainable.ts";

export interface Sa2vaModel {
  readonly name: string;
  readonly config: Sa2vaConfig;
  readonly tiling: TilingConfig;
  readonly tokenizer: Tokenizer;
  /** Never changed, shared by policy, partner and reference. */
  readonly frozen: ReadonlyMap<string, Tensor>;
  /** Published tensors of the modules that train (projector, [SEG] prompt, mask decoder, prompt encoder). */
  readonly base: ReadonlyMap<string, Tensor>;
  readonly parameters: number;
  /** Bytes of the weight files. */
  readonly bytes: number;
  dispose(): void;
}

/**
 * Loads a model folder onto the current backend.
 * @param name shown to people and stored with runs
 * @param beforeWeights called once folder, headers and tokenizer are found good: the moment to free another model
 * @throws LabError naming the file, tensor or field that is wrong; nothing stays behind
 */
export async function openSa2va(
  folder: ByteFolder,
  name: string,
  onProgress?: (progress: LoadProgress) => void,
  signal?: AbortSignal,
  beforeWeights?: () => void,
): Promise<Sa2vaModel> {
  const checkpoint = await openCheckpoint(folder);
  const tokenizer = await openTokenizer(folder);
  const rows = checkpoint.config.language.vocabSize;
  if (tokenizer.vocabSize > rows) {
    throw new LabError(
      "bad-input",
      `The tokenizer has ids up to ${tokenizer.vocabSize - 1}, the embedding only ${rows} rows; nothing was loaded`,
      { subject: "tokenizer.json" },
    );
  }
  beforeWeights?.();
  const tensors = await checkpoint.load(() => true, onProgress, signal);
  const frozen = new Map<string, Tensor>();
  const base = new Map<string, Tensor>();
  let parameters = 0;
  for (const [path, tensor] of tensors) {
    (isTrainableBase(path) ? base : frozen).set(path, tensor);
    parameters += tensor.size;
  }
  const { config } = checkpoint;
  return {
    name,
    config,
    tiling: config,
    tokenizer,
    frozen,
    base,
    parameters,
    bytes: checkpoint.bytes,
    dispose() {
      tf.dispose([...frozen.values(), ...base.values()]);
    },
  };
}
