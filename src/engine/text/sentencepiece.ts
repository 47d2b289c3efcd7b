/** SentencePiece: text to ids of pieces and back, from a `tokenizer.model`. */
import { badInput } from "../errors.ts";
import { type Cut, pieceCutter } from "./sentencepiece-cut.ts";
import { PIECE, parseSentencePiece, type SentencePieceModel } from "./sentencepiece-model.ts";
import { BLANK_MARK, type Normalise, sentencePieceNormaliser } from "./sentencepiece-normalise.ts";

export interface SentencePiece {
  readonly size: number;
  /** Ids of a text, without start or end tokens. @param dummyPrefix false adds no blank in front */
  encode(text: string, dummyPrefix?: boolean): number[];
  /**
   * Text of pieces by name. Control pieces give no text; unknown names stand for themselves.
   * @param dummyPrefix false keeps a blank in front
   */
  decode(pieces: readonly string[], dummyPrefix?: boolean): string;
  /** Id of a piece by its name, including control and byte pieces. */
  find(piece: string): number | undefined;
  piece(id: number): string | undefined;
}

/** @throws LabError naming the file when it is not a model */
export function openSentencePiece(data: Uint8Array, name: string): SentencePiece {
  const model = parseSentencePiece(data, name);
  const names = new Map(model.pieces.map(({ text }, id) => [text, id] as const));
  const unknown = model.pieces.findIndex(({ kind }) => kind === PIECE.unknown);
  if (unknown < 0) throw badInput(`${name} has no piece for unknown text`, name);
  const own = model.pieces.filter(({ kind }) => kind === PIECE.userDefined).map(({ text }) => text);
  const plain = { ...model, normaliser: { ...model.normaliser, addDummyPrefix: false } };
  const cut = pieceCutter(model);
  const withPrefix = sentencePieceNormaliser(model, own);
  const without = sentencePieceNormaliser(plain, own);
  const bytes = byteIds(model);
  return {
    size: model.pieces.length,
    encode: (text, dummyPrefix = true) =>
      encode(model, names, unknown, bytes, cut, dummyPrefix ? withPrefix : without, text),
    decode: (pieces, dummyPrefix = true) => decode(dummyPrefix ? model : plain, names, pieces),
    find: (piece) => names.get(piece),
    piece: (id) => model.pieces[id]?.text,
  };
}

/** Id of the piece of each byte. */
function byteIds(model: SentencePieceModel): Map<number, number> {
  const ids = new Map<number, number>();
  model.pieces.forEach(({ text, kind }, id) => {
    if (kind === PIECE.byte) ids.set(byteOf(text), id);
  });
  return ids;
}

/** Byte pieces are written as <0x41>. */
function byteOf(text: string): number {
  return Number.parseInt(text.slice(3, 5), 16);
}

function encode(
  model: SentencePieceModel,
  names: ReadonlyMap<string, number>,
  unknown: number,
  bytes: ReadonlyMap<number, number>,
  cut: Cut,
  normalise: Normalise,
  text: string,
): number[] {
  const out: number[] = [];
  for (const piece of cut(normalise(text))) {
    const id = names.get(piece);
    if (id !== undefined) out.push(id);
    else if (model.byteFallback) {
      for (const byte of new TextEncoder().encode(piece)) out.push(bytes.get(byte) ?? unknown);
    }
    // A run of unknown letters is one unknown piece.
    else if (out.length === 0 || out[out.length - 1] !== unknown) out.push(unknown);
  }
  return out;
}

function decode(model: SentencePieceModel, names: ReadonlyMap<string, number>, pieces: readonly string[]): string {
  const { addDummyPrefix, removeExtraWhitespaces } = model.normaliser;
  let out = "";
  let waiting: number[] = [];
  let atStart = true;
  let sawBlank = false;
  for (const piece of pieces) {
    const kind = model.pieces[names.get(piece) ?? -1]?.kind ?? PIECE.normal;
    if (kind === PIECE.byte) {
      waiting.push(byteOf(piece));
      continue;
    }
    out += decodeBytes(waiting);
    waiting = [];
    if (sawBlank || out !== "") atStart = false;
    sawBlank = false;
    if (kind === PIECE.control) continue;
    if (kind === PIECE.unknown) {
      out += model.unknownSurface;
      continue;
    }
    let text = piece;
    // Removes the blank that encoding put in front.
    if (atStart && (addDummyPrefix || removeExtraWhitespaces) && text.startsWith(BLANK_MARK)) {
      text = text.slice(BLANK_MARK.length);
      sawBlank = !removeExtraWhitespaces;
    }
    out += text.replaceAll(BLANK_MARK, " ");
  }
  return out + decodeBytes(waiting);
}

/** UTF-8 with one U+FFFD for every byte outside a letter. */
function decodeBytes(bytes: readonly number[]): string {
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const length = letterLength(bytes, at);
    out +=
      length === 0
        ? "\ufffd"
        : new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes.slice(at, at + length)));
    at += Math.max(length, 1);
  }
  return out;
}

/** Number of bytes of the well-formed letter at an index, 0 if there is none. */
function letterLength(bytes: readonly number[], at: number): number {
  const first = bytes[at] as number;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes.slice(at, at + length)));
  } catch (thrown) {
    if (thrown instanceof TypeError) return 0;
    throw thrown;
  }
  return length;
}
