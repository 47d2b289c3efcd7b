/** Decoder of Zstandard frames (RFC 8878) with bounds checks; its time is linear in input and declared output. */

import { viewOf } from "../../engine/bytes/source.ts";
import { repeat } from "./lz4.ts";

// The two entropy codes of Zstandard (RFC 8878, section 4), with bounds checks.

/** Table of a finite-state code: the symbol of each state and the rule for the next state. */
interface FseTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly widths: Uint8Array;
  readonly bases: Uint16Array;
}

/** Table of a Huffman code: symbol and length by the next `log` bits. */
interface HuffmanTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly widths: Uint8Array;
}

const HUFFMAN_LOG = 11;
const WEIGHT_LOG = 6;

function damaged(): RangeError {
  return new RangeError("its Zstandard content is damaged");
}

/** Reads bits backwards, from the end of the bytes to their start; a one bit marks the end. */
class BackwardBits {
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
function readFse(bytes: Uint8Array, start: number, maxLog: number, symbols: number): [FseTable, number] {
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
function fseTable(counts: readonly number[], log: number): FseTable {
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
function singleSymbol(symbol: number): FseTable {
  return { log: 0, symbols: Uint8Array.of(symbol), widths: new Uint8Array(1), bases: new Uint16Array(1) };
}

/** Reads the description of a Huffman code. @returns the table and the position after its description */
function readHuffman(bytes: Uint8Array, start: number): [HuffmanTable, number] {
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
function decodeHuffman(bytes: Uint8Array, table: HuffmanTable, out: Uint8Array): void {
  const bits = new BackwardBits(bytes);
  const { log, symbols, widths } = table;
  for (let at = 0; at < out.length; at++) {
    const code = bits.peek(log);
    out[at] = symbols[code] as number;
    bits.left -= widths[code] as number;
  }
  if (bits.left !== 0) throw damaged();
}

const MAGIC = 0xfd2fb528;
const SKIPPED = 0x184d2a50;
const MAX_BLOCK = 2 ** 17;
/** Maximum compression ratio of a frame: a block of one repeated byte takes four bytes. */
export const ZSTD_RATIO = MAX_BLOCK / 4;

/** One of the three codes of a sequence: default counts, bounds, and extra bits of each symbol. */
interface SequenceCode {
  readonly usual: FseTable;
  readonly maxLog: number;
  readonly bits: readonly number[];
  readonly bases: readonly number[];
}

function sequenceCode(counts: readonly number[], log: number, maxLog: number, bits: number[], first: number) {
  let next = first;
  const bases = bits.map((width) => {
    next += 2 ** width;
    return next - 2 ** width;
  });
  return { usual: fseTable(counts, log), maxLog, bits, bases };
}

const times = (value: number, count: number): number[] => Array<number>(count).fill(value);
const upTo = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

const LITERALS: SequenceCode = sequenceCode(
  [4, 3, ...times(2, 11), 1, 1, 1, ...times(2, 9), 3, 2, ...times(1, 5), ...times(-1, 4)],
  6,
  9,
  [...times(0, 16), 1, 1, 1, 1, 2, 2, 3, 3, 4, ...upTo(6, 16)],
  0,
);
const MATCHES: SequenceCode = sequenceCode(
  [1, 4, 3, ...times(2, 6), ...times(1, 37), ...times(-1, 7)],
  6,
  9,
  [...times(0, 32), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, ...upTo(7, 16)],
  3,
);
const OFFSETS: SequenceCode = sequenceCode(
  [...times(1, 6), 2, 2, 2, ...times(1, 15), ...times(-1, 5)],
  5,
  8,
  upTo(0, 31),
  1,
);

/** State that a block passes to the next block of its frame. */
interface FrameState {
  huffman: HuffmanTable | undefined;
  tables: [FseTable, FseTable, FseTable] | undefined;
  /** The last three distances. */
  readonly recent: [number, number, number];
  /** First byte of the frame in the output. */
  readonly start: number;
}

/**
 * Content of consecutive Zstandard frames. Checksums are not verified.
 * @param size bytes of the content
 * @throws RangeError with the rest of a sentence when a frame is damaged or the content has another size
 */
export function decodeZstd(frames: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (size > frames.length * ZSTD_RATIO)
    throw new RangeError(`${frames.length} packed bytes cannot hold ${size} bytes`);
  const view = viewOf(frames);
  const out = new Uint8Array(size);
  let [at, written] = [0, 0];
  while (at < frames.length) {
    const magic = view.getUint32(at, true);
    if ((magic & ~15) >>> 0 === SKIPPED) {
      at += 8 + view.getUint32(at + 4, true);
      continue;
    }
    if (magic !== MAGIC) throw new RangeError("it is not a Zstandard frame");
    [at, written] = decodeFrame(frames, at + 4, out, written);
  }
  if (written !== size) throw new RangeError(`it holds ${written} bytes but declares ${size}`);
  return out;
}

/** @returns the positions after the frame in the input and in the output */
function decodeFrame(frames: Uint8Array, start: number, out: Uint8Array, from: number): [number, number] {
  const view = viewOf(frames);
  const flags = view.getUint8(start);
  const single = (flags & 32) !== 0;
  if ((flags & 8) !== 0) throw damaged();
  if ((flags & 3) !== 0) throw new RangeError("its Zstandard frame needs a dictionary");
  let at = start + (single ? 1 : 2);
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][flags >> 6] as number;
  if (sizeBytes > 0) {
    const stated =
      sizeBytes === 1
        ? view.getUint8(at)
        : sizeBytes === 2
          ? view.getUint16(at, true) + 256
          : sizeBytes === 4
            ? view.getUint32(at, true)
            : Number(view.getBigUint64(at, true));
    if (stated > out.length - from) throw new RangeError("its Zstandard frame declares more bytes than the buffer");
  }
  at += sizeBytes;
  const state: FrameState = { huffman: undefined, tables: undefined, recent: [1, 4, 8], start: from };
  let written = from;
  while (true) {
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    at += 3;
    const [last, kind, length] = [header & 1, (header >> 1) & 3, header >> 3];
    const stored = kind === 1 ? 1 : length;
    if (kind === 3 || length > MAX_BLOCK || at + stored > frames.length) throw damaged();
    if (kind !== 2 && written + length > out.length) throw new RangeError("it holds more bytes than it declares");
    const block = frames.subarray(at, at + stored);
    if (kind === 0) out.set(block, written);
    else if (kind === 1) out.fill(block[0] as number, written, written + length);
    written = kind === 2 ? decodeBlock(block, out, written, state) : written + length;
    at += stored;
    if (last === 1) return [at + ((flags & 4) !== 0 ? 4 : 0), written];
  }
}

/** @returns the position after the output of the block */
function decodeBlock(block: Uint8Array, out: Uint8Array, from: number, state: FrameState): number {
  const [literals, start] = readLiterals(block, state);
  const end = Math.min(out.length, from + MAX_BLOCK);
  let [at, to, used] = [start, from, 0];
  const byte = (): number => {
    const value = block[at++];
    if (value === undefined) throw damaged();
    return value;
  };
  const copy = (count: number): void => {
    if (used + count > literals.length || to + count > end) throw damaged();
    out.set(literals.subarray(used, used + count), to);
    used += count;
    to += count;
  };
  let count = byte();
  if (count === 255) count = byte() + 256 * byte() + 0x7f00;
  else if (count > 127) count = 256 * (count - 128) + byte();
  if (count > 0) {
    const modes = byte();
    if ((modes & 3) !== 0) throw damaged();
    const before = state.tables;
    const table = (code: SequenceCode, mode: number, old: FseTable | undefined): FseTable => {
      if (mode === 0) return code.usual;
      if (mode === 1) {
        const symbol = byte();
        if (symbol >= code.bits.length) throw damaged();
        return singleSymbol(symbol);
      }
      if (mode === 3) {
        if (old === undefined) throw damaged();
        return old;
      }
      const [read, next] = readFse(block, at, code.maxLog, code.bits.length);
      at = next;
      return read;
    };
    const literal = table(LITERALS, modes >> 6, before?.[0]);
    const offset = table(OFFSETS, (modes >> 4) & 3, before?.[1]);
    const match = table(MATCHES, (modes >> 2) & 3, before?.[2]);
    state.tables = [literal, offset, match];
    const bits = new BackwardBits(block.subarray(at));
    let l = bits.take(literal.log);
    let o = bits.take(offset.log);
    let m = bits.take(match.log);
    for (let n = 0; n < count; n++) {
      const back = bits.take(offset.symbols[o] as number) + 2 ** (offset.symbols[o] as number);
      const matchCode = match.symbols[m] as number;
      const length = (MATCHES.bases[matchCode] as number) + bits.take(MATCHES.bits[matchCode] as number);
      const literalCode = literal.symbols[l] as number;
      const before = (LITERALS.bases[literalCode] as number) + bits.take(LITERALS.bits[literalCode] as number);
      if (n + 1 < count) {
        l = (literal.bases[l] as number) + bits.take(literal.widths[l] as number);
        m = (match.bases[m] as number) + bits.take(match.widths[m] as number);
        o = (offset.bases[o] as number) + bits.take(offset.widths[o] as number);
      }
      if (bits.left < 0) throw damaged();
      copy(before);
      const distance = distanceOf(back, before === 0, state.recent);
      if (distance < 1 || to - distance < state.start || to + length > end) throw damaged();
      repeat(out, to, distance, length);
      to += length;
    }
    if (bits.left !== 0) throw damaged();
  }
  copy(literals.length - used);
  return to;
}

/** The distance of an offset code value: 1 to 3 repeat previous distances. */
function distanceOf(value: number, withoutLiterals: boolean, recent: [number, number, number]): number {
  const [first, second, third] = recent;
  const which = value > 3 ? 3 : value - 1 + (withoutLiterals ? 1 : 0);
  const distance = value > 3 ? value - 3 : which === 3 ? first - 1 : (recent[which] as number);
  if (which === 0) return distance;
  recent[0] = distance;
  recent[1] = first;
  recent[2] = which === 1 ? third : second;
  return distance;
}

/** @returns the literals of a block and the position after them */
function readLiterals(block: Uint8Array, state: FrameState): [Uint8Array, number] {
  const head = (at: number): number => block[at] ?? 0;
  const [kind, format] = [head(0) & 3, (head(0) >> 2) & 3];
  if (kind < 2) {
    const start = format === 1 ? 2 : format === 3 ? 3 : 1;
    const wide = (head(0) >> 4) | (head(1) << 4);
    const size = start === 1 ? head(0) >> 3 : start === 2 ? wide : wide | (head(2) << 12);
    const end = start + (kind === 0 ? size : 1);
    if (end > block.length || size > MAX_BLOCK) throw damaged();
    return [kind === 0 ? block.subarray(start, end) : new Uint8Array(size).fill(head(start)), end];
  }
  const [start, width] = (
    [
      [3, 10],
      [3, 10],
      [4, 14],
      [5, 18],
    ] as const
  )[format] as readonly [number, number];
  let header = 0;
  for (let at = start - 1; at >= 0; at--) header = header * 256 + head(at);
  const size = Math.floor(header / 16) % 2 ** width;
  const end = start + (Math.floor(header / 2 ** (4 + width)) % 2 ** width);
  if (end > block.length || size > MAX_BLOCK) throw damaged();
  let at: number = start;
  if (kind === 2) [state.huffman, at] = readHuffman(block.subarray(0, end), start);
  const { huffman } = state;
  if (huffman === undefined) throw damaged();
  const literals = new Uint8Array(size);
  if (format === 0) {
    decodeHuffman(block.subarray(at, end), huffman, literals);
    return [literals, end];
  }
  if (at + 6 > end) throw damaged();
  const quarter = (size + 3) >> 2;
  let from = at + 6;
  for (let stream = 0; stream < 4; stream++) {
    const to = stream === 3 ? end : from + head(at + 2 * stream) + 256 * head(at + 2 * stream + 1);
    if (to > end || quarter * stream > size) throw damaged();
    const piece = literals.subarray(quarter * stream, stream === 3 ? size : quarter * (stream + 1));
    decodeHuffman(block.subarray(from, to), huffman, piece);
    from = to;
  }
  return [literals, end];
}
