/** SAM2's object pointer, which only video uses, from tensors that a model for pictures does not load. */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { chosenToken, objectPointer as engineObjectPointer } from "../../src/plugins/clips/sam2/frame-masks.ts";
import { SAM } from "../../src/plugins/clips/sam2/video-shapes.ts";
import type { GoldenArrays } from "./golden-arrays.ts";
import type { GoldenModel } from "./golden-model.ts";

const LAYERS = [0, 1, 2];

/**
 * Projection of the chosen mask token; an absent object (negative score) gets the stored "no object" pointer instead.
 * @param tokens decoder output [B, T, C]
 * @param index chosen candidate 0..2, [B]
 * @param score object score logits [B, 1]
 * @returns [B, C] or undefined when the checkpoint has no such projection
 */
export async function objectPointer(
  model: GoldenModel,
  tokens: Tensor,
  index: Tensor,
  score: Tensor,
): Promise<Tensor | undefined> {
  const names = LAYERS.flatMap((layer) =>
    ["weight", "bias"].map((part) => `${SAM}.obj_ptr_proj.layers.${layer}.${part}`),
  );
  const parts = await storedTensors(model, [...names, `${SAM}.no_obj_ptr`]);
  if (parts === undefined) return undefined;
  const weights = weightsView(new Map(parts), {}, 0);
  const pointer = tf.tidy(() => engineObjectPointer(weights, chosenToken(tokens, index), score));
  tf.dispose([...parts.values()]);
  return pointer;
}

/** Tensors of the checkpoint by name, from whichever of its files holds them; undefined if one is absent. */
async function storedTensors(
  model: GoldenModel,
  names: readonly string[],
): Promise<ReadonlyMap<string, Tensor> | undefined> {
  const paths = model.folder.paths.filter((path) => /^model[^/]*\.safetensors$/.test(path));
  const files = await Promise.all(paths.map((path) => model.arrays(path)));
  const holders = names.map((name) => files.find((file) => file.has(name)));
  if (holders.includes(undefined)) return undefined;
  const tensors = await Promise.all(names.map((name, at) => (holders[at] as GoldenArrays).tensor(name)));
  return new Map(names.map((name, at) => [name, tensors[at] as Tensor]));
}
