/** The two entropy codes of Zstandard (RFC 8878, section 4), with bounds checks. */

/** Table of a finite-state code: the symbol of each state and the rule for the next state. */
export interface FseTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly widths: Uint8Array;
  readonly bases: Uint16Array;
}

/** Table of a Huffman code: symbol and length by the next `log` bits. */
export interface HuffmanTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly widths: Uint8Array;
}

const HUFFMAN_LOG = 11;
const WEIGHT_LOG = 6;

export function damaged(): RangeError {
  return new RangeError("its Zstandard content is damaged");
}

/** Reads bits backwards, from the end of the bytes to their start; a one bit marks the end. */
export class BackwardBits {
  /** Remaining bits; negative after reading beyond the start, where bits are zero. */
  left: number;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    const last = bytes[bytes.length - 1];
    if (last === undefined || last === 0) throw damaged();
    this.bytes = bytes;
    this.left = 8 * bytes.length - 1 - Math.clz32(last) + 24;
  }

  /** Peeks at the next bits; at most 24. */
  peek(count: number): number {
    const from = this.left - count;
    if (from < 0) return this.left <= 0 ? 0 : (this.window(0) & ((1 << this.left) - 1)) << -from;
    return (this.window(from >> 3) >>> (from & 7)) & ((1 << count) - 1);
  }

  /** Consumes the next bits; at most 31. */
  take(count: number): number {
    if (count > 24) return this.take(count - 16) * 65_536 + this.take(16);
    const value = this.peek(count);
    this.left -= count;
    return value;
  }

  private window(at: number): number {
    const { bytes } = this;
    return (
      ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>>
      0
    );
  }
}

/**
 * Reads the description of a finite-state code.
 * @param maxLog maximum bits of a state
 * @param symbols maximum number of symbols
 * @returns the table and the position after its description
 */
export function readFse(bytes: Uint8Array, start: number, maxLog: number, symbols: number): [FseTable, number] {
  let bit = 8 * start;
  const peek = (count: number): number => {
    const at = bit >> 3;
    if (at >= bytes.length) throw damaged();
    const window = (bytes[at] as number) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
    return (window >> (bit & 7)) & ((1 << count) - 1);
  };
  const log = peek(4) + 5;
  bit += 4;
  if (log > maxLog) throw damaged();
  const counts: number[] = [];
  let left = 1 << log;
  while (left > 0) {
    if (counts.length >= symbols) throw damaged();
    // A value from 0 to left + 1; small values take one bit less.
    const width = 32 - Math.clz32(left + 1);
    const small = (1 << width) - 2 - left;
    const low = (1 << (width - 1)) - 1;
    let value = peek(width);
    if ((value & low) < small) {
      value &= low;
      bit += width - 1;
    } else {
      if (value > low) value -= small;
      bit += width;
    }
    // -1 stands for "less than one".
    const count = value - 1;
    counts.push(count);
    left -= Math.abs(count);
    if (count !== 0) continue;
    let zeros: number;
    do {
      zeros = peek(2);
      bit += 2;
      for (let n = 0; n < zeros; n++) counts.push(0);
    } while (zeros === 3 && counts.length <= symbols);
  }
  if (left < 0 || counts.length > symbols || bit > 8 * bytes.length) throw damaged();
  return [fseTable(counts, log), (bit + 7) >> 3];
}

/**
 * The table of a finite-state code from the number of states of each symbol, 2^log in all; -1 for the rarest symbols.
 */
export function fseTable(counts: readonly number[], log: number): FseTable {
  const size = 1 << log;
  const symbols = new Uint8Array(size);
  let high = size - 1;
  counts.forEach((count, symbol) => {
    if (count === -1) symbols[high--] = symbol;
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  counts.forEach((count, symbol) => {
    for (let n = 0; n < count; n++) {
      symbols[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at > high);
    }
  });
  if (at !== 0) throw damaged();
  const next = counts.map(Math.abs);
  const widths = new Uint8Array(size);
  const bases = new Uint16Array(size);
  for (let state = 0; state < size; state++) {
    const symbol = symbols[state] as number;
    const number = next[symbol] as number;
    next[symbol] = number + 1;
    const width = log - (31 - Math.clz32(number));
    widths[state] = width;
    bases[state] = (number << width) - size;
  }
  return { log, symbols, widths, bases };
}

/** A code of one symbol, which takes no bits. */
export function singleSymbol(symbol: number): FseTable {
  return { log: 0, symbols: Uint8Array.of(symbol), widths: new Uint8Array(1), bases: new Uint16Array(1) };
}

/** Reads the description of a Huffman code. @returns the table and the position after its description */
export function readHuffman(bytes: Uint8Array, start: number): [HuffmanTable, number] {
  const head = bytes[start];
  if (head === undefined) throw damaged();
  const coded = head < 128;
  const end = start + 1 + (coded ? head : (head - 126) >> 1);
  if (end > bytes.length) throw damaged();
  const weights = coded ? codedWeights(bytes.subarray(start + 1, end)) : [];
  for (let n = 0; !coded && n < head - 127; n++) {
    const pair = bytes[start + 1 + (n >> 1)] as number;
    weights.push(n % 2 === 0 ? pair >> 4 : pair & 15);
  }
  const sum = weights.reduce((total, weight) => total + (weight === 0 ? 0 : 2 ** (weight - 1)), 0);
  if (sum === 0) throw damaged();
  const log = 32 - Math.clz32(sum);
  // The last weight completes the sum to the next power of two.
  const rest = 2 ** log - sum;
  if (log > HUFFMAN_LOG || (rest & (rest - 1)) !== 0) throw damaged();
  weights.push(32 - Math.clz32(rest));
  const symbols = new Uint8Array(1 << log);
  const widths = new Uint8Array(1 << log);
  let at = 0;
  for (let weight = 1; weight <= log; weight++) {
    weights.forEach((own, symbol) => {
      if (own !== weight) return;
      const count = 1 << (weight - 1);
      symbols.fill(symbol, at, at + count);
      widths.fill(log + 1 - weight, at, at + count);
      at += count;
    });
  }
  return [{ log, symbols, widths }, end];
}

/** Weights coded with a finite-state code: two states alternate until the bits end. */
function codedWeights(bytes: Uint8Array): number[] {
  const [table, at] = readFse(bytes, 0, WEIGHT_LOG, 256);
  const bits = new BackwardBits(bytes.subarray(at));
  const weights: number[] = [];
  const states = [0, 0];
  const needed = [table.log, table.log];
  for (let turn = 0; ; turn ^= 1) {
    const width = needed[turn] as number;
    if (bits.left < width) return weights;
    const state = (states[turn] as number) + bits.take(width);
    const weight = table.symbols[state] as number;
    weights.push(weight);
    if (weights.length > 255 || weight > HUFFMAN_LOG) throw damaged();
    states[turn] = table.bases[state] as number;
    needed[turn] = table.widths[state] as number;
  }
}

/** Fills `out` with the symbols of one Huffman stream, which must end exactly at the last bit. */
export function decodeHuffman(bytes: Uint8Array, table: HuffmanTable, out: Uint8Array): void {
  const bits = new BackwardBits(bytes);
  const { log, symbols, widths } = table;
  for (let at = 0; at < out.length; at++) {
    const code = bits.peek(log);
    out[at] = symbols[code] as number;
    bits.left -= widths[code] as number;
  }
  if (bits.left !== 0) throw damaged();
}
