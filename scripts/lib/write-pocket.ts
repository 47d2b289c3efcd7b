/** The pocket model's folder in the published layout. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TensorToWrite, writeSafetensors } from "../../src/engine/formats/safetensors-write.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../src/engine/model/weights/weights.ts";
import { pocketFiles } from "../../tools/pocket/world/model-files.ts";
import { writeFileList } from "./file-list.ts";

/** Writes configuration, tokenizer, weights and the list of files. @param grid visual tokens along a side */
export function writePocket(out: string, tensors: readonly TensorToWrite[], grid: number): void {
  for (const [name, text] of Object.entries(pocketFiles(grid))) writeFileSync(join(out, name), text);
  replaceFile(join(out, "model.safetensors"), writeSafetensors([...tensors], { format: "pt" }));
  writeFileList(out);
}

/** Writes the model with `own` in place of its tensors of the same names. */
export async function writeTrainedPocket(
  out: string,
  model: Sa2vaModel,
  own: Readonly<Record<string, Tensor>>,
): Promise<void> {
  const tensors = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    const values = (await (own[name] ?? tensor).data()) as Float32Array;
    tensors.push({ name, shape: tensor.shape, data: Float32Array.from(values) });
  }
  writePocket(out, tensors, model.config.tokenGridSide);
}

/** A reader never sees half a file. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}
