/** Shared by the model parity checks: a golden folder's weights, configuration and cases. */
import { isRecord, readJson } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { badInput } from "../../src/engine/errors.ts";
import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import type { Sa2vaConfig } from "../../src/engine/model/config.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { ALL_F32, type StorageChoice } from "../../src/engine/model/weights/storage-choice.ts";
import { collectWeights, convertCheckpoint } from "../../src/engine/model/weights/weight-pieces.ts";
import {
  disposeWeights,
  type FrozenWeights,
  type Weights,
  weightsView,
} from "../../src/engine/model/weights/weights.ts";
import { type GoldenArrays, openArrays } from "./golden-arrays.ts";

/** Inputs of parity from outside the engine. */
export interface ParityDeps {
  /** PNG bytes to RGB pixels. */
  readonly decodeImage: (bytes: Uint8Array) => Promise<RgbImage>;
  /** Forms of the frozen matrices; f32 when absent. */
  readonly storage?: StorageChoice | undefined;
  /** Precision of products with packed matrices, where the card supports it; f32 when absent. */
  readonly arithmetic?: Arithmetic | undefined;
}

/** Storage and precision of the model under test. */
export type GoldenNumbers = Pick<ParityDeps, "storage" | "arithmetic">;

type Json = Record<string, unknown>;

export interface GoldenModel {
  readonly folder: ByteFolder;
  readonly config: Sa2vaConfig;
  readonly cases: Json;
  /** All tensors of the checkpoint that pictures use. */
  readonly frozen: FrozenWeights;
  readonly arithmetic: Arithmetic;
  /** The checkpoint without adapter. */
  readonly weights: Weights;
  arrays(path: string): Promise<GoldenArrays>;
  dispose(): void;
}

/** @throws LabError naming the file that is missing or wrong */
export async function openGoldenModel(folder: ByteFolder, numbers: GoldenNumbers = {}): Promise<GoldenModel> {
  const { storage: choice = ALL_F32, arithmetic = "f32" } = numbers;
  const cases = await jsonFile(folder, "cases.json");
  const checkpoint = await openCheckpoint(folder);
  const frozen = await collectWeights(convertCheckpoint(checkpoint, { choice }));
  return {
    folder,
    config: checkpoint.config,
    cases,
    frozen,
    arithmetic,
    weights: weightsView(frozen, {}, 0, arithmetic),
    arrays: (path) => openArrays(folder, path),
    dispose: () => {
      disposeWeights(frozen.values());
    },
  };
}

export async function jsonFile(folder: ByteFolder, path: string): Promise<Json> {
  const source = folder.get(path);
  const json = source === undefined ? undefined : await readJson(source);
  if (!isRecord(json)) throw badInput(`The golden folder has no usable ${path}`, path);
  return json;
}

/** Bytes of a whole file of the folder. */
export async function fileBytes(folder: ByteFolder, path: string): Promise<Uint8Array> {
  const source = folder.get(path);
  if (source === undefined) throw badInput(`The golden folder has no ${path}`, path);
  return await source.read(0, source.size);
}
