/**
 * A checkpoint folder: config.json and one safetensors file or an index with shards
 * (docs/spec/sa2va.md#3-checkpoint-files).
 */
import * as z from "zod/mini";
import { checkShape, readJson } from "../../bytes/json.ts";
import type { ByteFolder } from "../../bytes/source.ts";
import { badInput, LabError, quote } from "../../errors.ts";
import { openSafetensors, type Safetensors } from "../../formats/safetensors.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../config.ts";
import type { Sam2Config } from "../sam2/config.ts";
import { isVideoOnly, sam2Shapes } from "../sam2-shapes.ts";
import { expectedShapes, type NamedShape } from "./tensor-shapes.ts";

/** The tensors of SAM2 that only clips use. */
export type VideoShapes = (config: Sam2Config) => readonly NamedShape[];

/** A tensor of every SAM3, whose tracker has the name of SAM2's. */
const OF_SAM3 = "grounding_encoder.sam2_model.backbone.vision_backbone.trunk.pos_embed";

const SINGLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";
/** The index file, which maps tensors to files. */
export const WEIGHT_INDEX = z.object({ weight_map: z.record(z.string(), z.string()) });

export interface LoadProgress {
  readonly done: number;
  readonly total: number;
  /** Bytes read so far, and in total. */
  readonly bytes: number;
  readonly totalBytes: number;
  readonly name: string;
}

export interface Checkpoint {
  readonly config: Sa2vaConfig;
  /** All tensors in file order, including those only used for video if they were requested. */
  readonly tensorNames: readonly string[];
  /** @throws LabError("bad-input") when there is no such tensor */
  shape(name: string): readonly number[];
  /** Bytes of the tensors in the files. */
  readonly bytes: number;
  /** The file that holds a tensor. @throws LabError("bad-input") when there is no such tensor */
  holder(name: string): Safetensors;
}

/**
 * Opens a folder, reads only headers, and checks that every tensor of the model exists once with its shape.
 * @param video names and shapes of the tensors that only clips use, which are then read too
 * @throws LabError naming the file, tensor or field
 */
export async function openCheckpoint(folder: ByteFolder, video?: VideoShapes): Promise<Checkpoint> {
  const configSource = folder.get("config.json");
  if (configSource === undefined) throw badInput("The model folder has no config.json", "config.json");
  const config = parseSa2vaConfig(await readJson(configSource));
  const holders = await openShards(folder);
  if (holders.has(OF_SAM3)) {
    throw new LabError(
      "unsupported",
      `The checkpoint masks with SAM3 (tensor "${OF_SAM3}"); this lab loads Sa2VA with SAM2`,
      {
        subject: "grounding_encoder",
      },
    );
  }
  const wrong =
    misfit(holders, [...expectedShapes(config), ...sam2Shapes(config.sam2, config.decoderSizes)]) ??
    misfit(holders, video?.(config.sam2) ?? []);
  if (wrong !== undefined) throw wrong;
  const holder = (name: string): Safetensors => {
    const found = holders.get(name);
    if (found === undefined) throw badInput(`The checkpoint has no tensor "${name}"`, name);
    return found;
  };
  const tensorNames = [...holders.keys()].filter((name) => video !== undefined || !isVideoOnly(name));
  const sumBytes = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + holder(name).info(name).bytes, 0);
  return {
    config,
    tensorNames,
    bytes: sumBytes(tensorNames),
    holder,
    shape: (name) => holder(name).info(name).shape,
  };
}

/**
 * The file that holds each tensor. As in transformers, a single file takes precedence over an index, because a model
 * that was saved again may still have its old index.
 */
async function openShards(folder: ByteFolder): Promise<Map<string, Safetensors>> {
  const single = folder.get(SINGLE);
  if (single !== undefined) {
    const file = await openSafetensors(single);
    return new Map(file.names.map((name) => [name, file]));
  }
  const index = folder.get(INDEX);
  if (index === undefined) throw badInput(`The model folder has neither ${SINGLE} nor ${INDEX}`, SINGLE);
  const holders = new Map<string, Safetensors>();
  const { weight_map: weightMap } = checkShape(await readJson(index), WEIGHT_INDEX, INDEX);
  for (const path of [...new Set(Object.values(weightMap))].sort()) {
    const shard = folder.get(path);
    if (shard === undefined) throw badInput(`${INDEX} lists ${quote(path)}, which is not in the model folder`, path);
    const file = await openSafetensors(shard);
    for (const name of file.names) {
      const other = holders.get(name);
      if (other !== undefined) {
        throw badInput(`Tensor ${quote(name)} is in both ${other.source} and ${file.source}`, name);
      }
      holders.set(name, file);
    }
  }
  for (const [name, path] of Object.entries(weightMap)) {
    if (holders.get(name)?.source !== folder.get(path)?.name) {
      throw badInput(`${INDEX} names ${quote(path)} for tensor ${quote(name)}, but the file does not have it`, name);
    }
  }
  return holders;
}

/** The error of the first tensor that is missing or has another shape; undefined if there is none. */
function misfit(holders: ReadonlyMap<string, Safetensors>, shapes: readonly NamedShape[]): LabError | undefined {
  for (const [name, wanted] of shapes) {
    const file = holders.get(name);
    if (file === undefined) {
      const what = isVideoOnly(name)
        ? `The checkpoint can only decode frames alone: it lacks SAM2's memory (tensor "${name}")`
        : `The checkpoint has no tensor "${name}", which its config.json calls for`;
      return badInput(what, name);
    }
    const { shape } = file.info(name);
    if (shape.length !== wanted.length || wanted.some((side, axis) => side !== shape[axis])) {
      return badInput(
        `${file.source}: tensor "${name}" is [${shape.join(", ")}], config.json calls for [${wanted.join(", ")}]`,
        name,
      );
    }
  }
  return undefined;
}
