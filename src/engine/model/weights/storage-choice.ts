/** Which tensors of a checkpoint are packed, in which form, and their size. */

import { BLOCK_ELEMENTS, packedBytes, type WeightStorage } from "../../gpu/packed/storage.ts";
import { isTrainableBase } from "../adapter/trainable.ts";
import { isLanguageTensor } from "../language/language-families.ts";
import { isVideoOnly } from "../sam2-shapes.ts";

/** Forms of the frozen matrices; everything else is f32. */
export interface StorageChoice {
  /** Embedding, head and linear layers of the language model. */
  readonly language: WeightStorage;
  /** Linear layers of the vision tower and of SAM2's image encoder. */
  readonly towers: WeightStorage;
}

export const ALL_F32: StorageChoice = { language: "f32", towers: "f32" };

/** The packed form of a tensor; undefined for an ordinary f32 tensor. */
export function packedForm(
  name: string,
  shape: readonly number[],
  choice: StorageChoice,
  blockElements: number = BLOCK_ELEMENTS,
): WeightStorage | undefined {
  if (shape.length !== 2 || !name.endsWith(".weight") || isTrainableBase(name)) return undefined;
  // These tensors take 30 MB in f32, and every frame uses all of them.
  if (isVideoOnly(name)) return undefined;
  // A table of positions, of which every picture reads rows in full precision.
  if (name.endsWith(".pos_embed.weight")) return undefined;
  const form = isLanguageTensor(name) ? choice.language : choice.towers;
  // In f32 only matrices larger than a binding need blocks.
  if (form === "f32" && (shape[0] as number) * (shape[1] as number) <= blockElements) return undefined;
  return form;
}

/** Bytes of a checkpoint tensor on the GPU. */
export function weightBytes(
  name: string,
  shape: readonly number[],
  choice: StorageChoice,
  blockElements: number = BLOCK_ELEMENTS,
): number {
  const form = packedForm(name, shape, choice, blockElements);
  if (form !== undefined) return packedBytes(form, shape as [number, number], blockElements);
  return 4 * shape.reduce((product, side) => product * side, 1);
}
