/** Writes safetensors that the reference reader accepts: no holes, aligned tensors, header padded to 8 bytes. */
import { LabError } from "../errors.ts";
import { DTYPE_BYTES, type Dtype } from "./dtype.ts";

/** A tensor to write: f32 numbers, or stored bytes with their element type. */
export interface TensorToWrite {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | { readonly dtype: Dtype; readonly bytes: Uint8Array };
}

/** The header of a tensor. */
export interface Described {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
}

/**
 * The bytes of a file.
 * @throws LabError("internal") when a name repeats or data and shape disagree
 */
export function writeSafetensors(
  entries: Iterable<TensorToWrite>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const { ordered, head, bytes } = layOut([...entries].map(described), metadata);
  const file = new Uint8Array(head.length + bytes);
  file.set(head);
  let at = head.length;
  for (const tensor of ordered) {
    file.set(tensor.bytes, at);
    at += tensor.bytes.length;
  }
  return file;
}

/** Number of bytes that a tensor's shape needs. */
export function tensorBytes({ shape, dtype }: Omit<Described, "name">): number {
  return shape.reduce((product, side) => product * side, 1) * DTYPE_BYTES[dtype];
}

/**
 * The tensors in file order, the bytes before them, and the tensors' size in bytes. The order is by decreasing element
 * size, then by name, so that all are aligned and the file depends only on its content.
 * @throws LabError("internal") when a name repeats
 */
export function layOut<T extends Described>(
  tensors: readonly T[],
  metadata?: Readonly<Record<string, string>>,
): { readonly ordered: readonly T[]; readonly head: Uint8Array<ArrayBuffer>; readonly bytes: number } {
  const ordered = [...tensors].sort(byAlignmentThenName);
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let bytes = 0;
  for (const tensor of ordered) {
    const { name, dtype, shape } = tensor;
    if (Object.hasOwn(header, name)) throw new LabError("internal", `Tensor "${name}" would be written twice`);
    const start = bytes;
    bytes += tensorBytes(tensor);
    header[name] = { dtype, shape, data_offsets: [start, bytes] };
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const head = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(head.length - 8), true);
  head.set(json, 8);
  return { ordered, head, bytes };
}

function described({ name, shape, data }: TensorToWrite): Described & { readonly bytes: Uint8Array } {
  const [dtype, bytes] =
    data instanceof Float32Array
      ? (["F32", new Uint8Array(data.buffer, data.byteOffset, data.byteLength)] as const)
      : ([data.dtype, data.bytes] as const);
  const needed = tensorBytes({ shape, dtype });
  if (bytes.length !== needed) {
    throw new LabError("internal", `Tensor "${name}" has ${bytes.length} bytes, its shape needs ${needed}`);
  }
  return { name, shape, dtype, bytes };
}

function byAlignmentThenName(a: Described, b: Described): number {
  const size = DTYPE_BYTES[b.dtype] - DTYPE_BYTES[a.dtype];
  return size !== 0 ? size : a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
