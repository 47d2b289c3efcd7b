/** The vision tower on the golden tiles, as errors relative to the largest expected element of each array. */
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { openSafetensors } from "../../src/engine/formats/safetensors.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { internVit } from "../../src/engine/model/families/internvl/config.ts";
import { projectVisual } from "../../src/engine/model/families/internvl/family.ts";
import { normalisePixels } from "../../src/engine/model/preprocess/tiling.ts";
import { pixelShuffle, visionTower } from "../../src/engine/model/vision.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { loadTensors } from "../../src/engine/model/weights/weight-pieces.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";

export async function visionErrors(folder: ByteFolder): Promise<Record<string, number>> {
  const checkpoint = await openCheckpoint(folder);
  const filter = (name: string): boolean => name.startsWith("vision_model.") || name.startsWith("mlp1.");
  const frozen = await loadTensors(checkpoint, filter);
  const weights = weightsView(frozen, {}, 0);
  const tiles = await openSafetensors(folder.get("golden_preprocess.safetensors")!);
  const expected = await openSafetensors(folder.get("golden_vision.safetensors")!);
  const bytes = await tiles.readRaw("tiles_u8");
  const seen = new Map<string, Tensor>();
  tf.tidy(() => {
    const pixels = tf.tensor(normalisePixels(bytes), [...tiles.info("tiles_u8").shape]);
    const keep = (name: string, value: Tensor): void => {
      seen.set(name, tf.keep(value.clone()));
    };
    const shuffled = pixelShuffle(
      checkpoint.config,
      atOnce(visionTower(weights, internVit(checkpoint.config), pixels, keep)),
    );
    keep("pixel_shuffle", shuffled);
    keep("mlp1", projectVisual(weights, shuffled));
  });
  const errors: Record<string, number> = {};
  for (const [name, tensor] of seen) {
    const want = await expected.read(name);
    const got = await tensor.data();
    let worst = got.length === want.length ? 0 : Number.POSITIVE_INFINITY;
    let largest = 0;
    want.forEach((value, at) => {
      worst = Math.max(worst, Math.abs(value - (got[at] as number)));
      largest = Math.max(largest, Math.abs(value));
    });
    errors[name] = worst / largest;
  }
  tf.dispose([...frozen.values(), ...seen.values()]);
  return errors;
}
