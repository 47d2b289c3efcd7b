/** Writes safetensors files larger than memory: the header is computed from sizes, tensors follow one by one. */
import { LabError } from "../errors.ts";
import { DTYPE_BYTES, type Dtype } from "./dtype.ts";

export interface StreamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  /** The elements' little-endian bytes in order; called once, when the tensor is written. */
  pieces(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

export function streamedBytes({ shape, dtype }: StreamedTensor): number {
  return shape.reduce((product, side) => product * side, 1) * DTYPE_BYTES[dtype];
}

/**
 * The bytes of a file in order. Tensors are ordered by falling element size, then by name, as in `writeSafetensors`.
 * @throws LabError("internal") when a name repeats or a tensor yields another number of bytes than its shape needs
 */
export async function* streamSafetensors(
  tensors: readonly StreamedTensor[],
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const ordered = [...tensors].sort((a, b) => {
    const size = DTYPE_BYTES[b.dtype] - DTYPE_BYTES[a.dtype];
    return size !== 0 ? size : a.name < b.name ? -1 : 1;
  });
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const tensor of ordered) {
    const { name, dtype, shape } = tensor;
    if (Object.hasOwn(header, name)) throw new LabError("internal", `Tensor "${name}" would be written twice`);
    header[name] = { dtype, shape, data_offsets: [offset, offset + streamedBytes(tensor)] };
    offset += streamedBytes(tensor);
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(start.buffer).setBigUint64(0, BigInt(start.length - 8), true);
  start.set(json, 8);
  yield start;
  for (const tensor of ordered) {
    let written = 0;
    for await (const piece of tensor.pieces()) {
      written += piece.length;
      yield piece;
    }
    const needed = streamedBytes(tensor);
    if (written !== needed) {
      throw new LabError("internal", `Tensor "${tensor.name}" has ${written} bytes, its shape needs ${needed}`);
    }
  }
}
