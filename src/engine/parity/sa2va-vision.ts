/** Golden preprocessing and vision tower: bytes, InternViT, pixel shuffle and projector. */
import type { ByteFolder } from "../bytes/source.ts";
import { openGoldenModel, type ParityDeps } from "./golden-model.ts";
import type { ParityRow } from "./row.ts";
import { preprocessRows } from "./sa2va-preprocess.ts";

/** A row per array of the preprocessing and vision files. */
export async function* sa2vaVisionParity(folder: ByteFolder, deps: ParityDeps): AsyncGenerator<ParityRow> {
  const model = await openGoldenModel(folder);
  try {
    yield* preprocessRows(model, deps);
  } finally {
    model.dispose();
  }
}
