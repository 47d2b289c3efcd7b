/** Writes safetensors that the reference reader accepts: no holes, aligned tensors, header padded to 8 bytes. */
import { LabError } from "../errors.ts";
import { DTYPE_BYTES, type Dtype } from "./dtype.ts";

/** A tensor to write: f32 numbers, or stored bytes with their element type. */
export interface TensorToWrite {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | { readonly dtype: Dtype; readonly bytes: Uint8Array };
}

interface Laid {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  readonly bytes: Uint8Array;
}

/**
 * The bytes of a file. Tensors are ordered by decreasing element size, then by name: all are aligned, and the file
 * depends only on its content.
 * @throws LabError("internal") when a name repeats or data and shape disagree
 */
export function writeSafetensors(
  entries: Iterable<TensorToWrite>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const laid = [...entries].map(layOut).sort(byAlignmentThenName);
  const header: Record<string, unknown> = {};
  if (metadata !== undefined) header.__metadata__ = metadata;
  let offset = 0;
  for (const { name, shape, dtype, bytes } of laid) {
    if (Object.hasOwn(header, name)) throw new LabError("internal", `Tensor "${name}" would be written twice`);
    header[name] = { dtype, shape, data_offsets: [offset, offset + bytes.length] };
    offset += bytes.length;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + headerLength + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true);
  file.fill(0x20, 8, 8 + headerLength);
  file.set(json, 8);
  let at = 8 + headerLength;
  for (const { bytes } of laid) {
    file.set(bytes, at);
    at += bytes.length;
  }
  return file;
}

function layOut({ name, shape, data }: TensorToWrite): Laid {
  const [dtype, bytes] =
    data instanceof Float32Array
      ? (["F32", new Uint8Array(data.buffer, data.byteOffset, data.byteLength)] as const)
      : ([data.dtype, data.bytes] as const);
  const needed = shape.reduce((product, side) => product * side, 1) * DTYPE_BYTES[dtype];
  if (bytes.length !== needed) {
    throw new LabError("internal", `Tensor "${name}" has ${bytes.length} bytes, its shape needs ${needed}`);
  }
  return { name, shape, dtype, bytes };
}

function byAlignmentThenName(a: Laid, b: Laid): number {
  const size = DTYPE_BYTES[b.dtype] - DTYPE_BYTES[a.dtype];
  return size !== 0 ? size : a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
