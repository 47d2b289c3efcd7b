/** SAM2's object pointer, which only tracking in video uses: computed for parity, from tensors the lab never loads. */
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { GoldenArrays } from "./golden-arrays.ts";
import type { GoldenModel } from "./golden-model.ts";

const SAM = "grounding_encoder.sam2_model";
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
  const chosen = (await index.data()) as Int32Array;
  const pointer = tf.tidy(() => {
    const [, , width] = tokens.shape as [number, number, number];
    // Tokens are [object score, IoU, four masks, …] and candidates begin with the second mask.
    const rows = Array.from(chosen, (best, row) => tokens.slice([row, 3 + best, 0], [1, 1, width]).reshape([1, width]));
    let x: Tensor = tf.concat(rows);
    for (const layer of LAYERS) {
      x = linear(x, parts[2 * layer] as Tensor, parts[2 * layer + 1] as Tensor);
      if (layer < LAYERS.length - 1) x = x.relu();
    }
    const present = score.greater(0).toFloat();
    return x.mul(present).add((parts.at(-1) as Tensor).mul(tf.scalar(1).sub(present)));
  });
  tf.dispose(parts);
  return pointer;
}

/** Tensors of the checkpoint by name, from whichever of its files holds them; undefined when one is not there. */
async function storedTensors(model: GoldenModel, names: readonly string[]): Promise<Tensor[] | undefined> {
  const paths = model.folder.paths.filter((path) => /^model[^/]*\.safetensors$/.test(path));
  const files = await Promise.all(paths.map((path) => model.arrays(path)));
  const holders = names.map((name) => files.find((file) => file.has(name)));
  if (holders.includes(undefined)) return undefined;
  return await Promise.all(names.map((name, at) => (holders[at] as GoldenArrays).tensor(name)));
}
