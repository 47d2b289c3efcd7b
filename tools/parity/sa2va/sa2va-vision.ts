/** Golden preprocessing and vision tower: bytes, InternViT, pixel shuffle and projector. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { atOnce } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { internVit } from "../../../src/engine/model/families/internvl/config.ts";
import { projectVisual } from "../../../src/engine/model/families/internvl/family.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { pixelShuffle, visionTower } from "../../../src/engine/model/vision.ts";
import { compareArrays, missed, type Tolerance } from "../compare.ts";
import { type GoldenModel, openGoldenModel, type ParityDeps } from "../golden-model.ts";
import { Captured } from "../probes.ts";
import type { ParityRow } from "../row.ts";
import { PREPROCESS_FILE, preprocessRows } from "./sa2va-preprocess.ts";

const FILE = "golden_vision.safetensors";
const TOLERANCE: Tolerance = { relative: 1e-4 };

/** A row per array of the preprocessing and vision files that the folder has. */
export async function* sa2vaVisionParity(folder: ByteFolder, deps: ParityDeps): AsyncGenerator<ParityRow> {
  const model = await openGoldenModel(folder, deps);
  const captured = new Captured();
  try {
    if (folder.get(PREPROCESS_FILE) === undefined) return;
    yield* preprocessRows(model, deps);
    if (folder.get(FILE) === undefined) return;
    const golden = await model.arrays(FILE);
    await runVision(model, captured);
    for (const name of golden.names) {
      const what = "vision tower and projector";
      if (!captured.has(name)) yield missed(name, what, "nothing computes this array");
      else yield compareArrays(name, what, await golden.read(name), await captured.read(name, false), TOLERANCE);
    }
  } finally {
    captured.dispose();
    model.dispose();
  }
}

/** The tower runs on the golden bytes, so that a difference in resizing does not propagate. */
async function runVision(model: GoldenModel, captured: Captured): Promise<void> {
  const { weights, config } = model;
  const stored = await model.arrays(PREPROCESS_FILE);
  const values = normalisePixels(Uint8Array.from(await stored.read("tiles_u8")));
  tf.tidy(() => {
    const pixels: Tensor = tf.tensor(values, [...stored.shape("tiles_u8")]);
    // The last block runs too, even if the checkpoint selects an earlier state.
    const tower = internVit(config);
    if (tower.selectLayer !== -1) atOnce(visionTower(weights, { ...tower, selectLayer: -1 }, pixels, captured.probe));
    const tokens = atOnce(visionTower(weights, tower, pixels, captured.probe));
    const shuffled = pixelShuffle(config, tokens);
    captured.probe("pixel_shuffle", shuffled);
    captured.probe("mlp1", projectVisual(weights, shuffled));
  });
}
