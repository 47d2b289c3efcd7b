/** Converts pieces of weights to the bytes of a stored part, and back. */

import * as z from "zod/mini";
import { sha256Hex } from "../bytes/hash.ts";
import { joinBytes } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { blockBytes, WEIGHT_STORAGES } from "../gpu/packed/storage.ts";
import type { WeightPiece } from "../model/weights/weight-pieces.ts";

const count = z.number().check(z.int(), z.gte(0));
const shape = z.array(count).check(z.maxLength(8));

/** A piece of a part; its words directly follow those of the previous piece. */
const PIECE = z.union([
  z.strictObject({ name: z.string(), shape }),
  z.object({
    name: z.string(),
    shape: z.tuple([count, count]),
    storage: z.enum(WEIGHT_STORAGES),
    first: count,
    rows: count,
    unit: z.number().check(z.positive()),
  }),
]);
type PieceRecord = z.output<typeof PIECE>;

/** A line of the journal. */
export const PART = z.object({
  file: z.string().check(z.regex(/^part-\d{5,9}\.bin$/)),
  bytes: count,
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  pieces: z.array(PIECE),
});
export type PartRecord = z.output<typeof PART>;

export async function encodePart(
  index: number,
  pieces: readonly WeightPiece[],
): Promise<{ readonly record: PartRecord; readonly content: Uint8Array<ArrayBuffer> }> {
  const arrays = pieces.flatMap((piece): (Float32Array | Uint32Array)[] =>
    piece.kind === "tensor" ? [piece.values] : [piece.packed.values, piece.packed.scales],
  );
  const content = joinBytes(arrays);
  const record: PartRecord = {
    file: `part-${String(index).padStart(5, "0")}.bin`,
    bytes: content.length,
    sha256: await sha256Hex(content),
    pieces: pieces.map((piece): PieceRecord => {
      if (piece.kind === "tensor") return { name: piece.name, shape: [...piece.shape] };
      const { name, shape, storage, first, rows, packed } = piece;
      return { name, shape: [...shape], storage, first, rows, unit: packed.unit };
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
    const { name, shape } = piece;
    if (!("storage" in piece)) {
      const { buffer, byteOffset, length } = words(shape.reduce((product, side) => product * side, 1));
      yield { kind: "tensor", name, shape, values: new Float32Array(buffer, byteOffset, length) };
      continue;
    }
    const { storage, first, rows, unit } = piece;
    const sizes = blockBytes(storage, piece.shape[1], rows);
    const packed = { values: words(sizes.values / 4), scales: words(sizes.scales / 4), unit };
    yield { kind: "rows", name, shape: piece.shape, storage, first, rows, packed };
  }
}
