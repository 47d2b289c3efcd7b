/** The pocket model's folder in the published layout. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TensorToWrite, writeSafetensors } from "../../../src/engine/formats/safetensors-write.ts";
import { toHalf } from "../../../src/engine/gpu/packed/quantise.ts";
import type { Tensor } from "../../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../../src/engine/model/weights/weights.ts";
import { pocketFiles, withMotionRows } from "../../../tools/pocket/world/model-files.ts";
import { MOTION_WORDS, SPECIAL_TOKENS, vocabulary } from "../../../tools/pocket/world/vocabulary.ts";
import { nodeFolder } from "../node/node-files.ts";
import { writeFileList } from "./file-list.ts";

/**
 * Writes configuration, tokenizer, weights and the list of files.
 * @param grid visual tokens along a side
 * @param motion with the words of clips, for which the tables have rows
 */
export function writePocket(out: string, tensors: readonly TensorToWrite[], grid: number, motion = false): void {
  for (const [name, text] of Object.entries(pocketFiles(grid, motion))) writeFileSync(join(out, name), text);
  replaceFile(join(out, "model.safetensors"), writeSafetensors([...tensors], { format: "pt" }));
  writeFileList(out);
}

/**
 * Writes the model with the tensors of `own` replacing those of the same names; a model with words of motion is stored
 * in half precision.
 */
export async function writeTrainedPocket(
  out: string,
  model: Sa2vaModel,
  own: Readonly<Record<string, Tensor>>,
): Promise<void> {
  const motion = knowsMotion(model);
  const tensors: TensorToWrite[] = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    const values = (await (own[name] ?? tensor).data()) as Float32Array;
    tensors.push({ name, shape: tensor.shape, data: motion ? halves(values) : Float32Array.from(values) });
  }
  writePocket(out, tensors, model.config.tokenGridSide, motion);
}

/**
 * Writes a pocket model with the words of clips added to its vocabulary and everything else unchanged; a model that has
 * them is copied.
 * @param from its folder
 */
export async function writeGrownPocket(out: string, from: string): Promise<void> {
  const model = await openSa2va(await nodeFolder(from), "pocket");
  const grows = !knowsMotion(model);
  const tensors: TensorToWrite[] = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    const data = Float32Array.from((await tensor.data()) as Float32Array);
    const [rows, width] = tensor.shape as [number, number];
    const table = grows && /(embed_tokens|lm_head)\.weight$/.test(name);
    tensors.push(
      table
        ? { name, shape: [rows + Object.keys(MOTION_WORDS).length, width], data: withMotionRows(data, width) }
        : { name, shape: tensor.shape, data },
    );
  }
  writePocket(out, tensors, model.config.tokenGridSide, true);
  model.dispose();
}

function halves(values: Float32Array): { dtype: "F16"; bytes: Uint8Array } {
  return { dtype: "F16", bytes: new Uint8Array(Uint16Array.from(values, toHalf).buffer) };
}

/** Whether its vocabulary has the words of clips. */
function knowsMotion(model: Sa2vaModel): boolean {
  return model.config.language.vocabSize > vocabulary().length + SPECIAL_TOKENS.length;
}

/** Readers never see a partial file. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}
