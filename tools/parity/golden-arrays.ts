import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { badInput } from "../../src/engine/errors.ts";
import { openSafetensors } from "../../src/engine/formats/safetensors.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";

/** The arrays of one golden safetensors file, as single-precision numbers whatever their type. */
export interface GoldenArrays {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** @throws LabError("bad-input") when there is no such array */
  shape(name: string): readonly number[];
  /** @throws LabError("bad-input") when there is no such array */
  read(name: string): Promise<Float32Array>;
  /** A tensor owned by the caller. */
  tensor(name: string): Promise<Tensor>;
}

/** @throws LabError("bad-input") naming the file when it is missing or not readable */
export async function openArrays(folder: ByteFolder, path: string): Promise<GoldenArrays> {
  const source = folder.get(path);
  if (source === undefined) throw badInput(`The golden folder has no ${path}`, path);
  const file = await openSafetensors(source);
  return {
    names: file.names,
    has: (name) => file.has(name),
    shape: (name) => file.info(name).shape,
    read: (name) => file.read(name),
    tensor: async (name) => tf.tensor(await file.read(name), [...file.info(name).shape]),
  };
}
