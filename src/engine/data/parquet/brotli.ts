/**
 * Decoder of Brotli streams (RFC 7932) that never holds more than the stated size: hyparquet's own decoder grows its output and
 * accepts a wrong size.
 */
import { BrotliBits, type PrefixCode, readContextMap, readCount, readPrefixCode, readSymbol } from "./brotli-codes.ts";
import type { BrotliWords } from "./brotli-words.ts";

/** Maximum content bytes per packed byte: ten times the ratio of a page with one repeated value. */
export const BROTLI_RATIO = 2 ** 20;

/** First value and extra bits of the codes of lengths, in order. */
function ranges(first: number, bits: readonly number[]): (readonly [first: number, bits: number])[] {
  let next = first;
  return bits.map((width) => {
    next += 2 ** width;
    return [next - 2 ** width, width];
  });
}
const INSERTS = ranges(0, [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 24]);
const COPIES = ranges(2, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 24]);
const COUNTS = ranges(1, [2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 7, 8, 9, 10, 11, 12, 13, 24]);
/** First codes of insert and copy lengths by the upper bits of a command. */
const CELLS = [
  [0, 0],
  [0, 8],
  [0, 0],
  [0, 8],
  [8, 0],
  [8, 8],
  [0, 16],
  [16, 0],
  [8, 16],
  [16, 8],
  [16, 16],
] as const;
/** Distances derived from the last ones: index of the earlier distance, and offset. */
const RECENT = [0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1] as const;
const ADDED = [0, 0, 0, 0, -1, 1, -2, 2, -3, 3, -1, 1, -2, 2, -3, 3] as const;

/** Blocks of one kind: the type of the current block, and its remaining items. */
class Blocks {
  readonly types: number;
  type = 0;
  private before = 1;
  private left = 2 ** 24;
  private readonly bits: BrotliBits;
  private readonly codes: { readonly type: PrefixCode; readonly count: PrefixCode } | undefined;

  constructor(bits: BrotliBits) {
    this.bits = bits;
    this.types = readCount(bits);
    if (this.types === 1) return;
    this.codes = { type: readPrefixCode(bits, this.types + 2), count: readPrefixCode(bits, COUNTS.length) };
    this.left = readRange(bits, COUNTS, readSymbol(bits, this.codes.count));
  }

  /** Counts one item and begins the next block when the current one is used up. */
  next(): void {
    if (this.left === 0 && this.codes !== undefined) {
      const code = readSymbol(this.bits, this.codes.type);
      const type = code === 0 ? this.before : code === 1 ? (this.type + 1) % this.types : code - 2;
      [this.before, this.type] = [this.type, type];
      this.left = readRange(this.bits, COUNTS, readSymbol(this.bits, this.codes.count));
    }
    this.left--;
  }
}

function readRange(bits: BrotliBits, of: readonly (readonly [number, number])[], code: number): number {
  const [first, width] = of[code] as readonly [number, number];
  return first + bits.read(width);
}

/**
 * The content of a stream.
 * @param size bytes of the content
 * @throws RangeError when it is damaged or has another size
 */
export function decodeBrotli(packed: Uint8Array, size: number, words: BrotliWords): Uint8Array {
  const bits = new BrotliBits(packed);
  const window = 2 ** windowBits(bits) - 16;
  const out = new Uint8Array(size);
  const recent = [4, 11, 15, 16];
  let at = 0;
  for (let last = false; !last; ) {
    bits.check();
    last = bits.bit() === 1;
    if (last && bits.bit() === 1) break;
    const nibbles = bits.read(2) + 4;
    if (nibbles === 7) {
      if (bits.bit() === 1) throw new RangeError("a reserved bit is set");
      const width = bits.read(2);
      bits.take(width === 0 ? 0 : bits.read(8 * width) + 1);
      continue;
    }
    const end = at + bits.read(4 * nibbles) + 1;
    if (end > size) throw new RangeError("it holds more bytes than it states");
    if (!last && bits.bit() === 1) {
      out.set(bits.take(end - at), at);
      at = end;
      continue;
    }
    at = readBlock({ bits, out, window, recent, words }, at, end);
  }
  bits.check();
  if (at !== size) throw new RangeError(`it holds ${at} bytes where ${size} are stated`);
  return out;
}

function windowBits(bits: BrotliBits): number {
  if (bits.bit() === 0) return 16;
  const wide = bits.read(3);
  if (wide > 0) return 17 + wide;
  const narrow = bits.read(3);
  if (narrow === 1) throw new RangeError("its window is larger than the format allows");
  return narrow === 0 ? 17 : 8 + narrow;
}

interface Stream {
  readonly bits: BrotliBits;
  readonly out: Uint8Array;
  readonly window: number;
  /** The last four distances, the newest first. */
  readonly recent: number[];
  readonly words: BrotliWords;
}

/** Decodes a compressed part of the stream. @returns its end */
function readBlock({ bits, out, window, recent, words }: Stream, from: number, end: number): number {
  const [literals, commands, distances] = [new Blocks(bits), new Blocks(bits), new Blocks(bits)];
  const postfix = bits.read(2);
  const direct = bits.read(4) << postfix;
  const modes = Array.from({ length: literals.types }, () => bits.read(2));
  const literalMap = readContextMap(bits, 64 * literals.types);
  const distanceMap = readContextMap(bits, 4 * distances.types);
  const codes = (count: number, alphabet: number): PrefixCode[] =>
    Array.from({ length: count }, () => readPrefixCode(bits, alphabet));
  const literalCodes = codes(literalMap.codes, 256);
  const commandCodes = codes(commands.types, 704);
  const distanceCodes = codes(distanceMap.codes, 16 + direct + (48 << postfix));
  let at = from;
  while (at < end) {
    bits.check();
    commands.next();
    const command = readSymbol(bits, commandCodes[commands.type] as PrefixCode);
    const [insert, copy] = CELLS[command >> 6] as readonly [number, number];
    const inserted = readRange(bits, INSERTS, insert + ((command >> 3) & 7));
    const copied = readRange(bits, COPIES, copy + (command & 7));
    if (at + inserted > end) throw new RangeError("it inserts beyond its end");
    for (const stop = at + inserted; at < stop; at++) {
      literals.next();
      const context = literalContext(modes[literals.type] as number, out[at - 1] ?? 0, out[at - 2] ?? 0);
      const code = literalCodes[literalMap.map[64 * literals.type + context] as number] as PrefixCode;
      out[at] = readSymbol(bits, code);
      // A cut-off stream would continue with zeros up to the stated size.
      if ((at & 4095) === 0) bits.check();
    }
    if (at === end) break;
    let code = 0;
    if (command >= 128) {
      distances.next();
      const place = 4 * distances.type + Math.min(copied, 5) - 2;
      code = readSymbol(bits, distanceCodes[distanceMap.map[place] as number] as PrefixCode);
    }
    const distance = distanceOf(bits, code, recent, postfix, direct);
    const reach = Math.min(window, at);
    if (distance > reach) {
      const word = words.word(copied, distance - reach - 1);
      if (at + word.length > end) throw new RangeError("a word reaches beyond its end");
      out.set(word, at);
      at += word.length;
      continue;
    }
    if (distance <= 0 || at + copied > end) throw new RangeError("it copies from before its start or beyond its end");
    if (code !== 0) recent.unshift(distance);
    recent.length = 4;
    for (const stop = at + copied; at < stop; at++) out[at] = out[at - distance] as number;
  }
  return at;
}

function distanceOf(bits: BrotliBits, code: number, recent: readonly number[], postfix: number, direct: number) {
  if (code < 16) return (recent[RECENT[code] as number] as number) + (ADDED[code] as number);
  if (code < 16 + direct) return code - 15;
  const rest = code - direct - 16;
  const width = 1 + (rest >> (postfix + 1));
  const offset = (2 + ((rest >> postfix) & 1)) * 2 ** width - 4;
  return (offset + bits.read(width)) * 2 ** postfix + (rest & ((1 << postfix) - 1)) + direct + 1;
}

/** Context 0..63 of a literal after the bytes `one` (the last) and `two` (the one before). */
function literalContext(mode: number, one: number, two: number): number {
  if (mode === 0) return one & 63;
  if (mode === 1) return one >> 2;
  return mode === 2 ? (LETTERS[one] as number) | (BEFORE[two] as number) : (signed(one) << 3) | signed(two);
}

function signed(byte: number): number {
  if (byte === 0 || byte === 255) return byte & 7;
  return byte < 16 ? 1 : byte < 64 ? 2 : byte < 128 ? 3 : byte < 192 ? 4 : byte < 240 ? 5 : 6;
}

/** Classes of the byte before the last one in text: signs, digits and capitals, small letters. */
const BEFORE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte > 127) return byte < 224 ? 0 : 2;
  const letter = String.fromCharCode(byte);
  return /[a-z]/.test(letter) ? 3 : /[0-9A-Z]/.test(letter) ? 2 : byte > 32 && byte < 127 ? 1 : 0;
});

/** Classes of the last byte in text, times four; continuation bytes of UTF-8 take the lower two bits. */
const LETTERS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte > 127) return (byte & 1) | (byte < 192 ? 0 : 2);
  const letter = String.fromCharCode(byte);
  if (byte < 32 || byte === 127) return /[\t\n\r]/.test(letter) ? 4 : 0;
  if (/[A-Z]/.test(letter)) return /[AEIOU]/.test(letter) ? 48 : 52;
  if (/[a-z]/.test(letter)) return /[aeiou]/.test(letter) ? 56 : 60;
  if (/[0-9]/.test(letter)) return 44;
  const signs: Readonly<Record<string, number>> = { " ": 8, "%": 20, ",": 32, ".": 36, "=": 40 };
  if (/["']/.test(letter)) return 16;
  if (/[(<[{]/.test(letter)) return 24;
  if (/[)>\]}]/.test(letter)) return 28;
  return signs[letter] ?? (/[:;]/.test(letter) ? 32 : 12);
});
