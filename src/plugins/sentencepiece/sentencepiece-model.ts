/** `tokenizer.model`: SentencePiece's ModelProto, read field by field from its protocol buffer encoding. */
import { badInput, LabError } from "../../engine/errors.ts";

/** Kinds of pieces, by their number in the file. */
export const PIECE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

interface Piece {
  readonly text: string;
  readonly score: number;
  readonly kind: number;
}

interface NormaliserSpec {
  /** Compiled replacement rules; empty if there are none. */
  readonly charsMap: Uint8Array;
  readonly addDummyPrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  readonly escapeWhitespaces: boolean;
}

export interface SentencePieceModel {
  readonly pieces: readonly Piece[];
  readonly algorithm: "unigram" | "bpe";
  readonly byteFallback: boolean;
  /** The dummy blank is added at the end instead of the start. */
  readonly whitespaceAsSuffix: boolean;
  /** Decoded text of an unknown piece. */
  readonly unknownSurface: string;
  readonly normaliser: NormaliserSpec;
}

type Field = { readonly number: number; readonly wire: number; readonly value: number; readonly bytes: Uint8Array };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
/** A byte order mark is treated as a letter. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const EMPTY = new Uint8Array(0);
const ALGORITHMS: Readonly<Record<number, SentencePieceModel["algorithm"]>> = { 1: "unigram", 2: "bpe" };

/**
 * @param name file name for messages
 * @throws LabError("bad-input") when the bytes are not a model, LabError("unsupported") for word and char models
 */
export function parseSentencePiece(data: Uint8Array, name: string): SentencePieceModel {
  const fail = (why: string): never => {
    throw badInput(`${name} is not a usable SentencePiece model: ${why}`, name);
  };
  const pieces: Piece[] = [];
  let trainer = new Map<number, Field>();
  let normaliser = new Map<number, Field>();
  for (const field of fields(data, fail)) {
    if (field.wire !== BYTES) continue;
    if (field.number === 1) pieces.push(parsePiece(field.bytes, fail));
    if (field.number === 2) trainer = lastOf(field.bytes, fail);
    if (field.number === 3) normaliser = lastOf(field.bytes, fail);
  }
  if (pieces.length === 0) fail("it has no pieces");
  const type = trainer.get(3)?.value ?? 1;
  const algorithm = ALGORITHMS[type];
  if (algorithm === undefined) {
    throw new LabError("unsupported", `${name} is a word or char model; only unigram and bpe are supported`, {
      subject: name,
    });
  }
  const surface = trainer.get(44)?.bytes;
  return {
    pieces,
    algorithm,
    byteFallback: (trainer.get(35)?.value ?? 0) !== 0,
    whitespaceAsSuffix: (trainer.get(24)?.value ?? 0) !== 0,
    unknownSurface: surface === undefined ? " \u2047 " : UTF8.decode(surface),
    normaliser: {
      charsMap: normaliser.get(2)?.bytes ?? EMPTY,
      addDummyPrefix: (normaliser.get(3)?.value ?? 1) !== 0,
      removeExtraWhitespaces: (normaliser.get(4)?.value ?? 1) !== 0,
      escapeWhitespaces: (normaliser.get(5)?.value ?? 1) !== 0,
    },
  };
}

type Fail = (why: string) => never;

function parsePiece(data: Uint8Array, fail: Fail): Piece {
  const of = lastOf(data, fail);
  const score = of.get(2)?.bytes ?? EMPTY;
  return {
    text: UTF8.decode(of.get(1)?.bytes ?? EMPTY),
    score: score.length === 4 ? new DataView(score.buffer, score.byteOffset).getFloat32(0, true) : 0,
    kind: of.get(3)?.value ?? PIECE.normal,
  };
}

/** The last value of every field, as the encoding requires. */
function lastOf(data: Uint8Array, fail: Fail): Map<number, Field> {
  const found = new Map<number, Field>();
  for (const field of fields(data, fail)) found.set(field.number, field);
  return found;
}

function* fields(data: Uint8Array, fail: Fail): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < data.length; scale *= 128) {
      const byte = data[at++] as number;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      // Negative numbers take ten bytes; no field used here is negative.
      if (scale > 2 ** 63) break;
    }
    return fail(`a number is cut off at byte ${at}`);
  };
  const take = (count: number): Uint8Array => {
    if (at + count > data.length) fail(`a field ends at byte ${at + count} of ${data.length} (cut off while copied?)`);
    at += count;
    return data.subarray(at - count, at);
  };
  while (at < data.length) {
    const key = varint();
    const [number, wire] = [Math.floor(key / 8), key % 8];
    if (number === 0) fail(`byte ${at} starts field 0, which does not exist`);
    if (wire === VARINT) yield { number, wire, value: varint(), bytes: EMPTY };
    else if (wire === BYTES) yield { number, wire, value: 0, bytes: take(varint()) };
    else if (wire === FIXED32 || wire === FIXED64)
      yield { number, wire, value: 0, bytes: take(wire === FIXED32 ? 4 : 8) };
    else fail(`byte ${at} starts an unknown kind of field`);
  }
}
