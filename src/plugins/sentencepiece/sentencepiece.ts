/** SentencePiece: text to ids of pieces and back, from a `tokenizer.model`. */

import { badInput } from "../../engine/errors.ts";
import { PIECE, parseSentencePiece, type SentencePieceModel } from "./sentencepiece-model.ts";
import { BLANK_MARK, type Normalise, sentencePieceNormaliser } from "./sentencepiece-normalise.ts";

// How SentencePiece splits normalised text into pieces: byte-pair merges by score, or the likeliest unigram path.

/** Splits a text into the texts of its pieces, in order. */
type Cut = (text: string) => string[];

/** Possible pieces, with ids and scores. */
interface Vocabulary {
  readonly ids: ReadonlyMap<string, number>;
  readonly model: SentencePieceModel;
  /** Texts that are never split, longest first. */
  readonly own: readonly string[];
}

export function pieceCutter(model: SentencePieceModel): Cut {
  const ids = new Map<string, number>();
  const usable: readonly number[] = [PIECE.normal, PIECE.userDefined, PIECE.unused];
  model.pieces.forEach(({ text, kind }, id) => {
    if (usable.includes(kind)) ids.set(text, id);
  });
  const own = model.pieces.filter(({ kind }) => kind === PIECE.userDefined).map(({ text }) => text);
  const vocabulary = { ids, model, own: own.sort((a, b) => b.length - a.length) };
  return model.algorithm === "bpe" ? bytePairs(vocabulary) : unigrams(vocabulary);
}

/** Letters by code point; user-defined pieces count as one. */
function letters(text: string, own: readonly string[]): { text: string; whole: boolean }[] {
  const out: { text: string; whole: boolean }[] = [];
  for (let at = 0; at < text.length; ) {
    const found = own.find((item) => text.startsWith(item, at));
    const value = found ?? String.fromCodePoint(text.codePointAt(at) as number);
    out.push({ text: value, whole: found !== undefined });
    at += value.length;
  }
  return out;
}

interface Merge {
  readonly left: number;
  readonly right: number;
  readonly score: number;
  readonly text: string;
}

/** Merges the adjacent pieces whose merged piece scores best, the leftmost of equals, until no merge gives a piece. */
function bytePairs({ ids, model, own }: Vocabulary): Cut {
  return (text) => {
    const symbols = letters(text, own);
    const before = symbols.map((_, at) => at - 1);
    const after = symbols.map((_, at) => (at + 1 < symbols.length ? at + 1 : -1));
    const heap = new MergeHeap();
    /** Merges into unused pieces, which are split again. */
    const parts = new Map<string, readonly [string, string]>();
    const offer = (left: number, right: number): void => {
      if (left < 0 || right < 0) return;
      const [a, b] = [symbols[left], symbols[right]] as [
        { text: string; whole: boolean },
        { text: string; whole: boolean },
      ];
      if (a.whole || b.whole) return;
      const joined = a.text + b.text;
      const id = ids.get(joined);
      if (id === undefined) return;
      const piece = model.pieces[id] as (typeof model.pieces)[number];
      heap.push({ left, right, score: piece.score, text: joined });
      if (piece.kind === PIECE.unused) parts.set(joined, [a.text, b.text]);
    };
    for (let at = 1; at < symbols.length; at++) offer(at - 1, at);
    for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
      const [left, right] = [symbols[top.left], symbols[top.right]] as [{ text: string }, { text: string }];
      // One of the two may already be merged with another neighbour.
      if (left.text === "" || right.text === "" || left.text + right.text !== top.text) continue;
      left.text = top.text;
      right.text = "";
      const next = after[top.right] as number;
      after[top.left] = next;
      if (next >= 0) before[next] = top.left;
      offer(before[top.left] as number, top.left);
      offer(top.left, next);
    }
    const taken = (value: string): string[] => {
      const id = ids.get(value);
      const split = id !== undefined && model.pieces[id]?.kind === PIECE.unused ? parts.get(value) : undefined;
      return split === undefined ? [value] : split.flatMap(taken);
    };
    return symbols.filter((symbol) => symbol.text !== "").flatMap((symbol) => taken(symbol.text));
  };
}

/** Best score first, then leftmost. */
class MergeHeap {
  private readonly items: Merge[] = [];

  push(item: Merge): void {
    const { items } = this;
    items.push(item);
    for (let at = items.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!ahead(items[at] as Merge, items[parent] as Merge)) break;
      [items[at], items[parent]] = [items[parent] as Merge, items[at] as Merge];
      at = parent;
    }
  }

  pop(): Merge | undefined {
    const { items } = this;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ; ) {
      let best = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < items.length && ahead(items[child] as Merge, items[best] as Merge)) best = child;
      }
      if (best === at) return top;
      [items[at], items[best]] = [items[best] as Merge, items[at] as Merge];
      at = best;
    }
  }
}

function ahead(a: Merge, b: Merge): boolean {
  return a.score > b.score || (a.score === b.score && a.left < b.left);
}

/** The score of an unknown letter is that of the worst piece minus this. */
const UNKNOWN_PENALTY = 10;
/**
 * A user-defined piece scores its bytes times the best score, minus this. The library starts its search for the best
 * score at the smallest positive number, so with the usual negative scores user-defined pieces almost always win.
 */
const OWN_DISCOUNT = 0.1;
const SMALLEST = 2 ** -126;

/** The split with the largest sum of scores, in single precision; the longest first piece wins a tie. */
function unigrams({ ids, model }: Vocabulary): Cut {
  const normal = model.pieces.filter(({ kind }) => kind === PIECE.normal).map(({ score }) => score);
  const least = normal.reduce((low, score) => Math.min(low, score), Number.POSITIVE_INFINITY);
  const most = normal.reduce((high, score) => Math.max(high, score), SMALLEST);
  const unknown = Math.fround(least - UNKNOWN_PENALTY);
  const longest = [...ids.keys()].reduce((most, piece) => Math.max(most, piece.length), 0);
  const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
  return (text) => {
    const best = new Float32Array(text.length + 1);
    const from = new Int32Array(text.length + 1).fill(-1);
    const consider = (start: number, end: number, score: number): void => {
      const total = Math.fround((best[start] as number) + score);
      if (from[end] !== -1 && !(total > (best[end] as number))) return;
      from[end] = start;
      best[end] = total;
    };
    for (let start = 0; start < text.length; ) {
      const letter = (text.codePointAt(start) as number) > 0xffff ? 2 : 1;
      let single = false;
      for (let length = 1; length <= Math.min(longest, text.length - start); length++) {
        const id = ids.get(text.slice(start, start + length));
        const piece = id === undefined ? undefined : model.pieces[id];
        if (piece === undefined || piece.kind === PIECE.unused) continue;
        const own = piece.kind === PIECE.userDefined;
        consider(start, start + length, own ? Math.fround(bytesOf(piece.text) * most - OWN_DISCOUNT) : piece.score);
        if (length === letter) single = true;
      }
      if (!single) consider(start, start + letter, unknown);
      start += letter;
    }
    const out: string[] = [];
    for (let end = text.length; end > 0; end = from[end] as number) out.push(text.slice(from[end], end));
    return out.reverse();
  };
}

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
