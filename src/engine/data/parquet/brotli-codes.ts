/** Bits, prefix codes and context maps of Brotli streams (RFC 7932, sections 3 and 7.3). */

/** Bits of a stream, lowest first; bits beyond its end are 0, and `check` reports them. */
export class BrotliBits {
  private readonly bytes: Uint8Array;
  /** Bit position. */
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  bit(): number {
    const value = ((this.bytes[this.at >>> 3] ?? 0) >>> (this.at & 7)) & 1;
    this.at++;
    return value;
  }

  /** @param count up to 25 */
  read(count: number): number {
    let value = 0;
    for (let taken = 0; taken < count; ) {
      const free = 8 - (this.at & 7);
      const take = Math.min(free, count - taken);
      const bits = ((this.bytes[this.at >>> 3] ?? 0) >>> (this.at & 7)) & ((1 << take) - 1);
      value += bits * 2 ** taken;
      this.at += take;
      taken += take;
    }
    return value;
  }

  /**
   * Returns bytes from the next whole byte on and skips them.
   * @throws RangeError when they are missing
   */
  take(count: number): Uint8Array {
    const from = (this.at + 7) >>> 3;
    this.at = (from + count) * 8;
    this.check();
    return this.bytes.subarray(from, from + count);
  }

  /** @throws RangeError when more bits were read than the stream has */
  check(): void {
    if (this.at > this.bytes.length * 8) throw new RangeError("it is cut off");
  }
}

/** A canonical code: number of codes of each length, and the symbols by length and value. */
export interface PrefixCode {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

const LONGEST = 15;

function prefixCode(lengths: Uint8Array): PrefixCode {
  const counts = new Uint16Array(LONGEST + 1);
  for (const length of lengths) counts[length] = (counts[length] as number) + 1;
  counts[0] = 0;
  const next = new Uint16Array(LONGEST + 2);
  for (let length = 1; length <= LONGEST; length++) {
    next[length + 1] = (next[length] as number) + (counts[length] as number);
  }
  const symbols = new Uint16Array(next[LONGEST + 1] as number);
  for (const [symbol, length] of lengths.entries()) {
    if (length > 0) symbols[(next[length] as number)++] = symbol;
  }
  return { counts, symbols };
}

/** The next symbol of a code; a code of one symbol takes no bits. */
export function readSymbol(bits: BrotliBits, { counts, symbols }: PrefixCode): number {
  if (symbols.length === 1) return symbols[0] as number;
  let [code, first, index] = [0, 0, 0];
  for (let length = 1; length <= LONGEST; length++) {
    code |= bits.bit();
    const count = counts[length] as number;
    if (code - first < count) return symbols[index + code - first] as number;
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  throw new RangeError("a code has no symbol");
}

const ORDER = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/** Value of a code-length length by its two to four bits, the first one lowest. */
const LENGTH_VALUES = [0, 4, 3, 2, 0, 4, 3, 1, 0, 4, 3, 2, 0, 4, 3, 5];

/**
 * Reads the code of an alphabet.
 * @throws RangeError when it is not complete
 */
export function readPrefixCode(bits: BrotliBits, alphabet: number): PrefixCode {
  const skip = bits.read(2);
  const lengths = new Uint8Array(alphabet);
  if (skip === 1) {
    const width = 32 - Math.clz32(alphabet - 1);
    const symbols = Array.from({ length: bits.read(2) + 1 }, () => bits.read(width));
    if (symbols.some((symbol) => symbol >= alphabet) || new Set(symbols).size !== symbols.length) {
      throw new RangeError("a code names a symbol twice or outside its alphabet");
    }
    const deep = symbols.length === 4 && bits.bit() === 1;
    const sizes = [[1], [1, 1], [1, 2, 2], deep ? [1, 2, 3, 3] : [2, 2, 2, 2]][symbols.length - 1] as number[];
    for (const [at, symbol] of symbols.entries()) lengths[symbol] = sizes[at] as number;
    return prefixCode(lengths);
  }
  const outer = readOuterLengths(bits, skip);
  let [symbol, space, previous, repeat, repeated] = [0, 2 ** LONGEST, 8, 0, 0];
  while (symbol < alphabet && space > 0) {
    const code = readSymbol(bits, outer);
    if (code < 16) {
      repeat = 0;
      lengths[symbol++] = code;
      if (code > 0) {
        previous = code;
        space -= 2 ** (LONGEST - code);
      }
      continue;
    }
    const length = code === 16 ? previous : 0;
    if (repeated !== length) [repeat, repeated] = [0, length];
    const before = repeat;
    if (repeat > 0) repeat = (repeat - 2) << (code - 14);
    repeat += bits.read(code - 14) + 3;
    const count = repeat - before;
    if (symbol + count > alphabet) throw new RangeError("the lengths of a code repeat beyond its alphabet");
    lengths.fill(length, symbol, symbol + count);
    symbol += count;
    if (length > 0) space -= count * 2 ** (LONGEST - length);
    bits.check();
  }
  if (space !== 0) throw new RangeError("a code is not complete");
  return prefixCode(lengths);
}

function readOuterLengths(bits: BrotliBits, skip: number): PrefixCode {
  const lengths = new Uint8Array(ORDER.length);
  let [space, codes] = [32, 0];
  for (let at = skip; at < ORDER.length && space > 0; at++) {
    // Two bits give most values, two more bits the rest.
    let peeked = bits.read(2);
    if (peeked === 3) peeked |= bits.bit() << 2;
    if (peeked === 7) peeked |= bits.bit() << 3;
    const value = LENGTH_VALUES[peeked] as number;
    lengths[ORDER[at] as number] = value;
    if (value > 0) {
      space -= 32 >> value;
      codes++;
    }
  }
  if (codes !== 1 && space !== 0) throw new RangeError("the lengths of a code are not complete");
  return prefixCode(lengths);
}

/** A count from 1 to 256. */
export function readCount(bits: BrotliBits): number {
  if (bits.bit() === 0) return 1;
  const width = bits.read(3);
  return 1 + 2 ** width + bits.read(width);
}

/**
 * The code of each context.
 * @returns the map and the number of codes
 */
export function readContextMap(bits: BrotliBits, size: number): { readonly map: Uint8Array; readonly codes: number } {
  const map = new Uint8Array(size);
  const codes = readCount(bits);
  if (codes === 1) return { map, codes };
  const longest = bits.bit() === 0 ? 0 : bits.read(4) + 1;
  const code = readPrefixCode(bits, codes + longest);
  for (let at = 0; at < size; ) {
    const symbol = readSymbol(bits, code);
    if (symbol === 0 || symbol > longest) map[at++] = symbol === 0 ? 0 : symbol - longest;
    else {
      const zeros = 2 ** symbol + bits.read(symbol);
      if (at + zeros > size) throw new RangeError("a context map repeats beyond its size");
      at += zeros;
    }
    bits.check();
  }
  if (bits.bit() === 1) moveToFront(map);
  return { map, codes };
}

/** Move-to-front: each value is an index in a list of all values, and the entry at the index moves to the front. */
function moveToFront(map: Uint8Array): void {
  const values = Array.from({ length: 256 }, (_, at) => at);
  for (const [at, place] of map.entries()) {
    const [value = 0] = values.splice(place, 1);
    values.unshift(value);
    map[at] = value;
  }
}
