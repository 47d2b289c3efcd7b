/** The pocket model's folder in the published layout. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { badInput } from "../../../src/engine/errors.ts";
import { type TensorToWrite, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { toHalf } from "../../../src/engine/gpu/packed/quantise.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { resizedPositions } from "../../../src/engine/model/vision.ts";
import { tensorsOf } from "../../../src/engine/model/weights/weights.ts";
import { GRID, PATCHES_PER_TOKEN, pocketFiles, withAddedRows } from "../../../tools/pocket/world/model-files.ts";
import { ADDED_WORDS, type AddedWords, SPECIAL_TOKENS, vocabulary } from "../../../tools/pocket/world/vocabulary.ts";
import { nodeFolder } from "../node/node-files.ts";
import { writeFileList } from "./file-list.ts";

/**
 * Writes configuration, tokenizer, weights and the list of files.
 * @param grid visual tokens along a side
 * @param added world whose words it has as well; the embedding must have rows for them
 */
export function writePocket(
  out: string,
  tensors: readonly TensorToWrite[],
  grid: number,
  added: AddedWords | null = null,
): void {
  for (const [name, text] of Object.entries(pocketFiles(grid, added))) writeFileSync(join(out, name), text);
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
  const [added, grid] = [addedTo(model), model.config.tokenGridSide];
  const half = added !== null || grid !== GRID;
  const tensors: TensorToWrite[] = [];
  for (const [name, tensor] of [...tensorsOf(model.frozen), ...model.base]) {
    const values = (await (own[name] ?? tensor).data()) as Float32Array;
    tensors.push({ name, shape: tensor.shape, data: half ? halves(values) : Float32Array.from(values) });
  }
  writePocket(out, tensors, grid, added);
}

/**
 * Writes a trained pocket model as the start of another: with the words of another world, with a finer grid of visual tokens,
 * or as it is. Positions of the grid are resized; nothing else changes.
 * @param from its folder
 * @param grid visual tokens along a side; by default the model's
 * @param added adds the words of that world, unless the model has them
 * @throws LabError("bad-input") when the model has the words of another world
 */
export async function writeGrownPocket(
  out: string,
  from: string,
  { grid, added }: { readonly grid?: number | undefined; readonly added?: AddedWords | undefined } = {},
): Promise<void> {
  const model = await openSa2va(await nodeFolder(from), "pocket");
  const side = grid ?? model.config.tokenGridSide;
  const known = addedTo(model);
  if (added !== undefined && known !== null && known !== added)
    throw badInput(`${from} has the words of the world "${known}", so those of "${added}" cannot be added`, from);
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
    const grows = added !== undefined && known === null && /(embed_tokens|lm_head)\.weight$/.test(name);
    tensors.push(
      grows
        ? { name, shape: [rows + countOf(added), width], data: withAddedRows(data, width, added) }
        : { name, shape: tensor.shape, data },
    );
  }
  writePocket(out, tensors, side, known ?? added ?? null);
  model.dispose();
}

function halves(values: Float32Array): { dtype: "F16"; bytes: Uint8Array } {
  return { dtype: "F16", bytes: new Uint8Array(Uint16Array.from(values, toHalf).buffer) };
}

const countOf = (added: AddedWords): number => Object.keys(ADDED_WORDS[added]).length;

/** The world whose words its vocabulary has beside those of the published model; the worlds add different numbers of them. */
function addedTo(model: Sa2vaModel): AddedWords | null {
  const more = model.config.language.vocabSize - vocabulary().length - SPECIAL_TOKENS.length;
  return (Object.keys(ADDED_WORDS) as AddedWords[]).find((world) => countOf(world) === more) ?? null;
}

/** Replaces a file at once, so that readers never see a partial file. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}
