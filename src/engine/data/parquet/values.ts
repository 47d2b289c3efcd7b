/** Values of a page, by their index among those that are not null. */
import type { Encoding, PageHeader } from "hyparquet";
import { deltaBinaryUnpack } from "hyparquet/src/delta.js";
import { viewOf } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { type BinaryCell, type Cell, fixedWidth, numberReader, type ReadMeter } from "../tables/table.ts";
import type { Leaf } from "./nodes.ts";

// The hybrid of runs and packed bits that stores levels, dictionary indices and booleans.

/**
 * Decodes `count` numbers of `width` bits; ignores later bytes.
 * @param width 0 to 32; with 0 bits every number is 0
 * @returns the numbers in the smallest array type that holds them, and the offset after the last run
 * @throws RangeError when the runs end early or are outside the bytes
 */
export function readHybrid(
  bytes: Uint8Array,
  start: number,
  width: number,
  count: number,
): { readonly numbers: Uint8Array | Uint16Array | Uint32Array; readonly end: number } {
  if (!(width >= 0 && width <= 32)) throw new RangeError(`numbers cannot have ${width} bits`);
  const numbers = width <= 8 ? new Uint8Array(count) : width <= 16 ? new Uint16Array(count) : new Uint32Array(count);
  if (width === 0) return { numbers, end: start };
  let [at, filled] = [start, 0];
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError("a run of numbers extends beyond its page");
    return bytes[at++] as number;
  };
  while (filled < count) {
    let head = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      if (shift > 28) throw new RangeError("a run of numbers is too long");
      const byte = next();
      head += (byte & 127) * 2 ** shift;
      more = byte >= 128;
    }
    if (head % 2 === 0) {
      const run = Math.min(head / 2, count - filled);
      let value = 0;
      for (let byte = 0; byte < width; byte += 8) value += next() * 2 ** byte;
      numbers.fill(value, filled, filled + run);
      filled += run;
      continue;
    }
    // Groups of eight numbers; those after the last one may be missing.
    const packed = Math.min(((head - 1) / 2) * 8, count - filled);
    let [word, bits] = [0, 0];
    for (const stop = filled + packed; filled < stop; filled++) {
      while (bits < width) {
        word += next() * 2 ** bits;
        bits += 8;
      }
      const size = 2 ** width;
      numbers[filled] = word % size;
      word = Math.floor(word / size);
      bits -= width;
    }
    const whole = Math.ceil((((head - 1) / 2) * 8 * width) / 8);
    at = Math.min(bytes.length, at + Math.max(0, whole - Math.ceil((packed * width) / 8)));
  }
  return { numbers, end: at };
}

/** Bits needed for numbers from 0 to `largest`. */
export function bitsFor(largest: number): number {
  return 32 - Math.clz32(largest);
}

/** The value at an index; the meter counts decoded texts. */
export type Values = (place: number, meter: ReadMeter) => Cell;

/** Maximum total bytes of values with shared prefixes. */
const MAX_SHARED = 2 ** 28;

/**
 * Values of the part of a page that follows its levels.
 * @param count values that are not null
 * @param dictionary values of the chunk's dictionary page
 * @throws LabError("unsupported") for unsupported encodings; Error or RangeError when the page is damaged
 */
export function readValues(
  bytes: Uint8Array,
  encoding: Encoding,
  count: number,
  leaf: Leaf,
  dictionary: { readonly values: Values; readonly count: number } | undefined,
): Values {
  if (leaf.type.kind === "null") return nothing;
  switch (encoding) {
    case "PLAIN":
      return plainValues(bytes, count, leaf);
    case "PLAIN_DICTIONARY":
    case "RLE_DICTIONARY": {
      if (count === 0) return nothing;
      if (dictionary === undefined) throw new RangeError("its dictionary is missing");
      const { numbers } = readHybrid(bytes, 1, bytes[0] ?? 0, count);
      return (place, meter) => {
        const index = numbers[place] as number;
        if (index >= dictionary.count)
          throw new RangeError(`index ${index} lies outside a dictionary of ${dictionary.count}`);
        return dictionary.values(index, meter);
      };
    }
    case "RLE": {
      // Booleans follow the length of their runs.
      if (leaf.type.kind !== "bool") break;
      const { numbers } = readHybrid(bytes, 4, 1, count);
      return (place) => numbers[place] === 1;
    }
    case "DELTA_BINARY_PACKED":
      return typed(leaf, deltas(bytes, 0, count, leaf.element.type === "INT64").numbers);
    case "DELTA_LENGTH_BYTE_ARRAY": {
      const { numbers, end } = deltas(bytes, 0, count, false);
      return slices(bytes, end, numbers as Int32Array, leaf);
    }
    case "DELTA_BYTE_ARRAY":
      return shared(bytes, count, leaf);
    case "BYTE_STREAM_SPLIT":
      return plainValues(joined(bytes, count), count, leaf);
    default:
  }
  throw new LabError("unsupported", `values in the encoding ${encoding} cannot be read here`);
}

const nothing: Values = () => null;

/** Consecutive values; texts and bytes follow their length. */
export function plainValues(bytes: Uint8Array, count: number, leaf: Leaf): Values {
  const { type, element } = leaf;
  if (type.kind === "null") return nothing;
  if (type.kind === "bool") {
    if (8 * bytes.length < count) throw short(bytes, count);
    return (place) => (((bytes[place >> 3] as number) >> (place & 7)) & 1) === 1;
  }
  if (element.type === "BYTE_ARRAY") {
    const view = viewOf(bytes);
    const starts = new Uint32Array(count + 1);
    let at = 0;
    for (let place = 0; place < count; place++) {
      if (at + 4 > bytes.length) throw short(bytes, count);
      starts[place] = at + 4;
      at += 4 + view.getUint32(at, true);
      if (at > bytes.length) throw short(bytes, count);
    }
    starts[count] = at + 4;
    return (place, meter) => cellOf(bytes.subarray(starts[place], (starts[place + 1] as number) - 4), leaf, meter);
  }
  const width = storedWidth(leaf);
  if (bytes.length < count * width) throw short(bytes, count);
  if (type.kind === "fixed-binary") return (place) => binaryOf(bytes.subarray(place * width, (place + 1) * width));
  const read = numberReader(type);
  if (read === undefined) throw new LabError("unsupported", `values of type ${type.kind} cannot be read here`);
  const view = viewOf(bytes);
  return (place) => read(view, place * width);
}

/** Small integers are stored in 32 bits, of which only the lowest bits are used. */
function storedWidth({ type, element }: Leaf): number {
  if (element.type === "INT32" || element.type === "FLOAT") return 4;
  if (element.type === "INT64" || element.type === "DOUBLE") return 8;
  return element.type === "INT96" ? 12 : (element.type_length ?? fixedWidth(type) ?? 0);
}

function typed({ type }: Leaf, numbers: Int32Array | BigInt64Array): Values {
  const read = numberReader(type);
  if (read === undefined) throw new LabError("unsupported", `values of type ${type.kind} cannot be read here`);
  const view = viewOf(new Uint8Array(numbers.buffer));
  return (place) => read(view, place * numbers.BYTES_PER_ELEMENT);
}

/** Differences packed in blocks (DELTA_BINARY_PACKED), and the offset after them. */
function deltas(
  bytes: Uint8Array,
  offset: number,
  count: number,
  wide: boolean,
): { readonly numbers: Int32Array | BigInt64Array; readonly end: number } {
  const numbers = wide ? new BigInt64Array(count) : new Int32Array(count);
  if (count === 0 && offset >= bytes.length) return { numbers, end: offset };
  // Block size, then parts per block: numbers that the unpacker trusts.
  const { numbers: head } = varints(bytes, offset, 2);
  const [block, parts] = head as [number, number];
  if (!(block >= 1 && block <= 2 ** 20 && parts >= 1 && parts <= 2 ** 10))
    throw new RangeError("its blocks are damaged");
  const reader = { view: viewOf(bytes), offset };
  if (count === 0) return { numbers, end: varints(bytes, offset, 4).end };
  deltaBinaryUnpack(reader, count, numbers);
  return { numbers, end: reader.offset };
}

function varints(
  bytes: Uint8Array,
  offset: number,
  count: number,
): { readonly numbers: number[]; readonly end: number } {
  const numbers: number[] = [];
  let at = offset;
  while (numbers.length < count) {
    let value = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63) throw new RangeError("a number extends beyond its page");
      value += (byte & 127) * 2 ** shift;
      more = byte >= 128;
    }
    numbers.push(value);
  }
  return { numbers, end: at };
}

function slices(bytes: Uint8Array, start: number, lengths: Int32Array, leaf: Leaf): Values {
  const ends = new Float64Array(lengths.length);
  let at = start;
  for (const [place, length] of lengths.entries()) {
    if (length < 0 || at + length > bytes.length) throw short(bytes, lengths.length);
    at += length;
    ends[place] = at;
  }
  return (place, meter) => {
    const end = ends[place] as number;
    return cellOf(bytes.subarray(end - (lengths[place] as number), end), leaf, meter);
  };
}

/** Each value starts with a prefix of the previous one (DELTA_BYTE_ARRAY). */
function shared(bytes: Uint8Array, count: number, leaf: Leaf): Values {
  const prefixes = deltas(bytes, 0, count, false);
  const suffixes = deltas(bytes, prefixes.end, count, false);
  const parts: Uint8Array[] = [];
  let [at, total] = [suffixes.end, 0];
  let before: Uint8Array = new Uint8Array(0);
  for (let place = 0; place < count; place++) {
    const [prefix, length] = [Number(prefixes.numbers[place]), Number(suffixes.numbers[place])];
    total += prefix + length;
    if (prefix < 0 || prefix > before.length || length < 0 || at + length > bytes.length || total > MAX_SHARED) {
      throw short(bytes, count);
    }
    const value = new Uint8Array(prefix + length);
    value.set(before.subarray(0, prefix));
    value.set(bytes.subarray(at, at + length), prefix);
    at += length;
    parts.push(value);
    before = value;
  }
  return (place, meter) => cellOf(parts[place] as Uint8Array, leaf, meter);
}

/** Reorders the first bytes of all values, then the second bytes, and so on. */
function joined(bytes: Uint8Array, count: number): Uint8Array {
  const width = count === 0 ? 1 : Math.floor(bytes.length / count);
  const out = new Uint8Array(count * width);
  for (let byte = 0; byte < width; byte++) {
    for (let place = 0; place < count; place++) out[place * width + byte] = bytes[byte * count + place] as number;
  }
  return out;
}

function cellOf(bytes: Uint8Array, leaf: Leaf, meter: ReadMeter): Cell {
  if (leaf.type.kind !== "text") return binaryOf(bytes);
  meter.take(2 * bytes.length);
  return new TextDecoder().decode(bytes);
}

function binaryOf(bytes: Uint8Array): BinaryCell {
  return {
    length: bytes.length,
    read: async (start = 0, end = bytes.length) => {
      if (!(start >= 0 && start <= end && end <= bytes.length)) {
        throw badInput(`bytes ${start} to ${end} lie outside a value of ${bytes.length} bytes`);
      }
      // A copy, so that one picture does not keep a whole page in memory.
      return new Uint8Array(bytes.subarray(start, end));
    },
  };
}

function short(bytes: Uint8Array, count: number): RangeError {
  return new RangeError(`${bytes.length} bytes do not hold its ${count} values`);
}

/** Encoding of a data page's values. */
export function encodingOf(header: PageHeader): Encoding | undefined {
  return (header.data_page_header ?? header.data_page_header_v2)?.encoding;
}
