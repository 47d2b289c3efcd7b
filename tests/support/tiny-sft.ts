/** The golden tiny model with regions to train on; the towers are those of the checkpoint. */
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../src/engine/model/weights/weights.ts";
import { encodeImage, type ImageFeatures } from "../../src/engine/policy/features.ts";
import type { SftRegion } from "../../src/plugins/supervised/batch.ts";
import { pocketPicture } from "../../tools/pocket/world/samples.ts";

export interface TinySft {
  readonly model: Sa2vaModel;
  readonly features: ImageFeatures;
  readonly regions: readonly SftRegion[];
}

/** One drawn picture with two regions; words that the tiny vocabulary lacks become its unknown word. */
export async function tinySft(): Promise<TinySft> {
  const model = await openSa2va(await nodeFolder("tests/golden/sa2va-tiny-qwen2"), "tiny");
  const { rgb, regions } = pocketPicture(3, 1, 2, 128);
  return { model, features: await encodeImage(model, rgb, 1), regions };
}

/** Copies of the tensors that a test trains; owned by the caller. */
export function trainables(model: Sa2vaModel, wanted: (name: string) => boolean): Record<string, Tensor> {
  const all = [...tensorsOf(model.frozen), ...model.base].filter(([name]) => wanted(name));
  return Object.fromEntries(all.map(([name, tensor]) => [name, tensor.clone()]));
}

export function disposeTiny({ model, features }: TinySft): void {
  model.dispose();
  tf.dispose([features.vision, ...Object.values(features.sam)]);
}
