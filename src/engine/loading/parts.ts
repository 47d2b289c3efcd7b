/** Pieces of weights as the bytes of a stored part, and back. */
import { sha256Hex } from "../bytes/hash.ts";
import { LabError } from "../errors.ts";
import { blockBytes, type WeightStorage } from "../gpu/packed/storage.ts";
import type { WeightPiece } from "../model/weight-pieces.ts";

/** A piece inside a part; its words follow those of the piece before it. */
export interface PieceRecord {
  readonly name: string;
  readonly shape: readonly number[];
  /** Absent for an f32 tensor. */
  readonly storage?: WeightStorage;
  readonly first?: number;
  readonly rows?: number;
  readonly unit?: number;
}

/** A line of the journal. */
export interface PartRecord {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly pieces: readonly PieceRecord[];
}

export async function encodePart(
  index: number,
  pieces: readonly WeightPiece[],
): Promise<{ readonly record: PartRecord; readonly content: Uint8Array<ArrayBuffer> }> {
  const arrays = pieces.flatMap((piece): (Float32Array | Uint32Array)[] =>
    piece.kind === "tensor" ? [piece.values] : [piece.packed.values, piece.packed.scales],
  );
  const content = new Uint8Array(arrays.reduce((sum, array) => sum + array.byteLength, 0));
  let at = 0;
  for (const array of arrays) {
    content.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  const record: PartRecord = {
    file: `part-${String(index).padStart(5, "0")}.bin`,
    bytes: content.length,
    sha256: await sha256Hex(content),
    pieces: pieces.map((piece): PieceRecord => {
      if (piece.kind === "tensor") return { name: piece.name, shape: piece.shape };
      const { name, shape, storage, first, rows, packed } = piece;
      return { name, shape, storage, first, rows, unit: packed.unit };
    }),
  };
  return { record, content };
}

/** @throws LabError("storage") when the record does not describe these bytes */
export function* decodePieces(record: PartRecord, bytes: Uint8Array<ArrayBuffer>): Generator<WeightPiece> {
  let at = 0;
  const words = (count: number): Uint32Array<ArrayBuffer> => {
    const start = bytes.byteOffset + at;
    at += 4 * count;
    if (at > bytes.length) throw new LabError("storage", `${record.file} is shorter than its record says`);
    return new Uint32Array(bytes.buffer, start, count);
  };
  for (const piece of record.pieces) {
    const { name, shape, storage } = piece;
    if (storage === undefined) {
      const { buffer, byteOffset, length } = words(shape.reduce((product, side) => product * side, 1));
      yield { kind: "tensor", name, shape, values: new Float32Array(buffer, byteOffset, length) };
      continue;
    }
    const { first = 0, rows = 0, unit = 1 } = piece;
    const sizes = blockBytes(storage, shape[1] as number, rows);
    const packed = { values: words(sizes.values / 4), scales: words(sizes.scales / 4), unit };
    yield { kind: "rows", name, shape: shape as readonly [number, number], storage, first, rows, packed };
  }
}
