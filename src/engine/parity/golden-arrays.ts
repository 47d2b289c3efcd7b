import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";

/** The arrays of one golden safetensors file, as numbers whatever their type. */
export interface GoldenArrays {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** @throws LabError("bad-input") when there is no such array */
  shape(name: string): readonly number[];
  /** @throws LabError("bad-input") when there is no such array */
  read(name: string): Promise<Float32Array>;
  /** A tensor the caller owns. */
  tensor(name: string): Promise<Tensor>;
}

export async function openArrays(folder: ByteFolder, path: string): Promise<GoldenArrays> {
  const source = folder.get(path);
  if (source === undefined) throw new LabError("bad-input", `The golden folder has no ${path}`, { subject: path });
  const bytes = await source.read(0, source.size);
  const n = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + n))) as Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;
  delete header.__metadata__;
  const info = (name: string) => {
    const i = header[name];
    if (i === undefined) throw new LabError("bad-input", `${path} has no array "${name}"`, { subject: path });
    return i;
  };
  const read = async (name: string): Promise<Float32Array> => {
    const i = info(name);
    const raw = bytes.slice(8 + n + i.data_offsets[0], 8 + n + i.data_offsets[1]);
    if (i.dtype === "F32") return new Float32Array(raw.buffer);
    if (i.dtype === "I32") return Float32Array.from(new Int32Array(raw.buffer));
    return Float32Array.from(raw);
  };
  return {
    names: Object.keys(header),
    has: (name) => header[name] !== undefined,
    shape: (name) => info(name).shape,
    read,
    tensor: async (name) => tf.tensor(await read(name), [...info(name).shape]),
  };
}
