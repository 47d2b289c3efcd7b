/**
 * Writes safetensors files larger than memory: the header is computed from the sizes, then tensors follow one by one.
 */
import { LabError } from "../errors.ts";
import { type Described, layOut, tensorBytes } from "./safetensors-write.ts";

export interface StreamedTensor extends Described {
  /** The elements' little-endian bytes in order; called once, when the tensor is written. */
  pieces(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/**
 * The bytes of a file in order, equal to those of `writeSafetensors`.
 * @throws LabError("internal") when a name repeats, or a tensor yields more or fewer bytes than its shape needs
 */
export async function* streamSafetensors(tensors: readonly StreamedTensor[]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { ordered, head } = layOut(tensors, { format: "pt" });
  yield head;
  for (const tensor of ordered) {
    let written = 0;
    for await (const piece of tensor.pieces()) {
      written += piece.length;
      yield piece;
    }
    const needed = tensorBytes(tensor);
    if (written !== needed) {
      throw new LabError("internal", `Tensor "${tensor.name}" has ${written} bytes, its shape needs ${needed}`);
    }
  }
}
