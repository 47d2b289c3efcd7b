/** The pocket model's folder in the published layout. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TensorToWrite, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { toHalf } from "../../../src/engine/gpu/packed/quantise.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { resizedPositions } from "../../../src/engine/model/vision.ts";
import { tensorsOf } from "../../../src/engine/model/weights/weights.ts";
import { GRID, PATCHES_PER_TOKEN, pocketFiles, withMotionRows } from "../../../tools/pocket/world/model-files.ts";
import { MOTION_WORDS, SPECIAL_TOKENS, vocabulary } from "../../../tools/pocket/world/vocabulary.ts";
import { nodeFolder } from "../node/node-files.ts";
import { writeFileList } from "./file-list.ts";

/**
 * Writes configuration, tokenizer, weights and the list of files.
 * @param grid visual tokens along a side
 * @param motion adds the words of clips; the embedding must have rows for them
 */
export function writePocket(out: string, tensors: readonly TensorToWrite[], grid: number, motion = false): void {
  for (const [name, text] of Object.entries(pocketFiles(grid, motion))) writeFileSync(join(out, name), text);
  replaceFile(join(out, "model.safetensors"), writeSafetensors([...tensors], { format: "pt" }));
  writeFileList(out);
}

/**
 * Writes the model with the tensors of `own` replacing those of the same names. All but the published model are stored
 * in half precision.
 */
export async function writeTrainedPocket(
  out: string,
  model: Sa2vaModel,
  own: Readonly<Record<string, Tensor>>,
): Promise<void> {
  const [motion, grid] = [knowsMotion(model), model.config.tokenGridSide];
  const half = motion || grid !== GRID;
  const tensors: TensorToWrite[] = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    const values = (await (own[name] ?? tensor).data()) as Float32Array;
    tensors.push({ name, shape: tensor.shape, data: half ? halves(values) : Float32Array.from(values) });
  }
  writePocket(out, tensors, grid, motion);
}

/**
 * Writes a trained pocket model as the start of another: with the words of clips, with a finer grid of visual tokens,
 * or as it is. Positions of the grid are resized; nothing else changes.
 * @param from its folder
 * @param grid visual tokens along a side; by default the model's
 * @param motion adds the words of clips, unless the model has them
 */
export async function writeGrownPocket(
  out: string,
  from: string,
  { grid, motion = false }: { readonly grid?: number | undefined; readonly motion?: boolean } = {},
): Promise<void> {
  const model = await openSa2va(await nodeFolder(from), "pocket");
  const side = grid ?? model.config.tokenGridSide;
  const [known, added] = [knowsMotion(model), Object.keys(MOTION_WORDS).length];
  const tensors: TensorToWrite[] = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    if (side !== model.config.tokenGridSide && name.endsWith(".position_embedding")) {
      const sized = tf.tidy(() => resizedPositions(tensor, PATCHES_PER_TOKEN * side));
      tensors.push({ name, shape: sized.shape, data: Float32Array.from(await sized.data()) });
      sized.dispose();
      continue;
    }
    const data = Float32Array.from((await tensor.data()) as Float32Array);
    const [rows, width] = tensor.shape as [number, number];
    const grows = motion && !known && /(embed_tokens|lm_head)\.weight$/.test(name);
    tensors.push(
      grows
        ? { name, shape: [rows + added, width], data: withMotionRows(data, width) }
        : { name, shape: tensor.shape, data },
    );
  }
  writePocket(out, tensors, side, motion || known);
  model.dispose();
}

function halves(values: Float32Array): { dtype: "F16"; bytes: Uint8Array } {
  return { dtype: "F16", bytes: new Uint8Array(Uint16Array.from(values, toHalf).buffer) };
}

/** Whether its vocabulary has the words of clips. */
function knowsMotion(model: Sa2vaModel): boolean {
  return model.config.language.vocabSize > vocabulary().length + SPECIAL_TOKENS.length;
}

/** Replaces a file at once, so that readers never see a partial file. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}
