/** What the model parity checks share: a golden folder's weights, configuration and cases. */
import { isRecord, readJson } from "../bytes/json.ts";
import type { ByteFolder } from "../bytes/source.ts";
import type { RgbImage } from "../data/sample.ts";
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { parseSam2Config, type Sam2Config } from "../model/sam2/config.ts";
import { type Weights, weightsView } from "../model/weights.ts";
import { type GoldenArrays, openArrays } from "./golden-arrays.ts";

/** What parity needs from its surroundings. */
export interface ParityDeps {
  /** PNG bytes to RGB pixels. */
  readonly decodeImage: (bytes: Uint8Array) => Promise<RgbImage>;
}

type Json = Record<string, unknown>;

export interface GoldenModel {
  readonly folder: ByteFolder;
  readonly config: Json;
  readonly sam2: Sam2Config;
  readonly cases: Json;
  /** All tensors of the checkpoint. */
  readonly frozen: ReadonlyMap<string, Tensor>;
  /** The checkpoint without adapter. */
  readonly weights: Weights;
  arrays(path: string): Promise<GoldenArrays>;
  dispose(): void;
}

export function isSa2vaGolden(folder: ByteFolder): boolean {
  return folder.get("cases.json") !== undefined && folder.get("config.json") !== undefined;
}

/** @throws LabError("bad-input") naming the file that is missing or wrong */
export async function openGoldenModel(folder: ByteFolder): Promise<GoldenModel> {
  const config = await jsonFile(folder, "config.json");
  const cases = await jsonFile(folder, "cases.json");
  const stored = await openArrays(folder, "model.safetensors");
  const frozen = new Map<string, Tensor>();
  for (const name of stored.names) frozen.set(name, await stored.tensor(name));
  return {
    folder,
    config,
    sam2: parseSam2Config(config.sam2_config),
    cases,
    frozen,
    weights: weightsView(frozen, {}, 0),
    arrays: (path) => openArrays(folder, path),
    dispose: () => tf.dispose([...frozen.values()]),
  };
}

export async function jsonFile(folder: ByteFolder, path: string): Promise<Json> {
  const source = folder.get(path);
  const json = source === undefined ? undefined : await readJson(source);
  if (!isRecord(json)) throw new LabError("bad-input", `The golden folder has no usable ${path}`, { subject: path });
  return json;
}

/** Bytes of a whole file of the folder. */
export async function fileBytes(folder: ByteFolder, path: string): Promise<Uint8Array> {
  const source = folder.get(path);
  if (source === undefined) throw new LabError("bad-input", `The golden folder has no ${path}`, { subject: path });
  return await source.read(0, source.size);
}
