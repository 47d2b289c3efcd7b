/**
 * Reads safetensors: eight bytes of header length, a JSON header, then the raw elements. Opening reads only the header;
 * each tensor is fetched by its byte range.
 */

import { isRecord, parseJson } from "../bytes/json.ts";
import { type ByteSource, joinBytes } from "../bytes/source.ts";
import { badInput, LabError, quote, shortened, thrownText } from "../errors.ts";

// Element types of safetensors files and their conversion to single precision.

/** Supported types; reading a tensor of another type fails with its name. */
export const DTYPE_BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, BOOL: 1 } as const;
export type Dtype = keyof typeof DTYPE_BYTES;

export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DTYPE_BYTES, name);
}

/**
 * Little-endian elements as f32. 64-bit types are rounded; F16 and BF16 convert exactly, NaN and infinity included.
 * @param bytes a whole number of elements, at any alignment
 */
export function toFloat32(bytes: Uint8Array<ArrayBuffer>, dtype: Dtype): Float32Array<ArrayBuffer> {
  const count = bytes.length / DTYPE_BYTES[dtype];
  if (!Number.isInteger(count))
    throw new LabError("internal", `${bytes.length} bytes are not a whole number of ${dtype}`);
  // Typed views need an aligned start, which a slice of a file may not have.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset } = aligned;
  switch (dtype) {
    case "F32":
      return new Float32Array(buffer, byteOffset, count);
    case "F64":
      return Float32Array.from(new Float64Array(buffer, byteOffset, count));
    case "F16":
      return halfToFloat(new Uint16Array(buffer, byteOffset, count));
    case "BF16":
      return brainToFloat(new Uint16Array(buffer, byteOffset, count));
    case "I64":
      return Float32Array.from(new BigInt64Array(buffer, byteOffset, count), Number);
    case "I32":
      return Float32Array.from(new Int32Array(buffer, byteOffset, count));
    case "I16":
      return Float32Array.from(new Int16Array(buffer, byteOffset, count));
    case "I8":
      return Float32Array.from(new Int8Array(buffer, byteOffset, count));
    case "U8":
    case "BOOL":
      return Float32Array.from(aligned);
  }
}

/** bfloat16 is the upper half of a float32. */
function brainToFloat(words: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(words.length);
  for (let at = 0; at < words.length; at++) bits[at] = (words[at] as number) << 16;
  return new Float32Array(bits.buffer);
}

let halfTable: Uint32Array | undefined;

/** Table of the single-precision bits of all 65,536 half-precision numbers. */
function halfToFloat(words: Uint16Array): Float32Array<ArrayBuffer> {
  halfTable ??= Uint32Array.from({ length: 0x10000 }, (_, half) => halfBits(half));
  const bits = new Uint32Array(words.length);
  for (let at = 0; at < words.length; at++) bits[at] = halfTable[words[at] as number] as number;
  return new Float32Array(bits.buffer);
}

function halfBits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return (sign | 0x7f800000 | (fraction << 13)) >>> 0;
  if (exponent !== 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0;
  if (fraction === 0) return sign >>> 0;
  // Subnormal: shift until the implicit leading one appears.
  const shift = Math.clz32(fraction) - 21;
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0;
}

/** The first four bytes of a zip archive, as a little-endian number. */
const ZIP = 0x04034b50n;

/**
 * Bytes of a header: about 100,000 tensors, parsed within a second. A model of 7B has 2,000; the reference reader allows
 * ten times as much.
 */
const MAX_HEADER = 10_000_000;

interface TensorInfo {
  /** As the file spells it: "F32", "BF16", … */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes in the file. */
  readonly bytes: number;
}

export interface Safetensors {
  /** File name, for messages. */
  readonly source: string;
  /** In byte order, so that reading all of them in turn reads the file sequentially. */
  readonly names: readonly string[];
  /** The header's `__metadata__`. */
  readonly metadata: Readonly<Record<string, string>>;
  has(name: string): boolean;
  /** @throws LabError("bad-input") when the tensor does not exist */
  info(name: string): TensorInfo;
  /** Row-major elements as f32. @throws LabError("unsupported") for an unsupported element type */
  read(name: string): Promise<Float32Array<ArrayBuffer>>;
  /** The stored little-endian bytes. */
  readRaw(name: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Bytes [start, end) of the stored tensor. */
  readRawRange(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** The same as f32; both ends must be element boundaries. */
  readRange(name: string, start: number, end: number): Promise<Float32Array<ArrayBuffer>>;
}

interface Entry extends TensorInfo {
  readonly start: number;
  readonly end: number;
}

/**
 * Opens a file and validates its header: lengths, offsets, overlaps and the size of the file.
 * @throws LabError("bad-input") naming the file and the problem
 */
export async function openSafetensors(source: ByteSource): Promise<Safetensors> {
  const fail = (why: string): never => {
    throw badInput(`${source.name} is not a usable safetensors file: ${why}`, source.name);
  };
  if (source.size < 8) fail(`it has ${source.size} bytes, fewer than the eight of a header length`);
  const prefix = new DataView((await source.read(0, 8)).buffer);
  const declared = prefix.getBigUint64(0, true);
  if ((declared & 0xffffffffn) === ZIP) fail("it is a zip archive; unpack it first");
  if (declared > BigInt(MAX_HEADER)) {
    fail(`it declares a header of more than ${MAX_HEADER / 1e6} MB (is it a Git LFS pointer or a page?)`);
  }
  const headerLength = Number(declared);
  const dataStart = 8 + headerLength;
  if (dataStart > source.size) {
    fail(`its header would end at byte ${dataStart}, the file has ${source.size} (cut off while it was copied?)`);
  }
  const header = parseHeader(await source.read(8, dataStart), fail);

  const entries = new Map<string, Entry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name === "__metadata__") metadata = stringsOf(value, fail);
    else entries.set(name, parseEntry(name, value, fail));
  }
  const ordered = checkLayout(entries, source.size - dataStart, fail);

  const entry = (name: string): Entry => {
    const found = entries.get(name);
    if (found === undefined) throw badInput(`${source.name} has no tensor ${quote(name)}`, name);
    return found;
  };
  const readRaw = (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const { start, end } = entry(name);
    return source.read(dataStart + start, dataStart + end);
  };
  const readRawRange = async (name: string, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> => {
    const { start, end } = entry(name);
    if (from < 0 || to < from || start + to > end) {
      throw new LabError("internal", `Bytes ${from} to ${to} are not inside ${quote(name)}`);
    }
    return source.read(dataStart + start + from, dataStart + start + to);
  };
  const readable = (name: string): Dtype => {
    const { dtype } = entry(name);
    if (isDtype(dtype)) return dtype;
    const known = Object.keys(DTYPE_BYTES).join(", ");
    throw new LabError(
      "unsupported",
      `${source.name}: tensor ${quote(name)} is ${quote(dtype)}, only ${known} can be read`,
      {
        subject: name,
      },
    );
  };
  return {
    source: source.name,
    names: ordered,
    metadata,
    has: (name) => entries.has(name),
    info(name) {
      const { dtype, shape, bytes } = entry(name);
      return { dtype, shape, bytes };
    },
    readRaw,
    readRawRange,
    read: async (name) => toFloat32(await readRaw(name), readable(name)),
    readRange: async (name, from, to) => toFloat32(await readRawRange(name, from, to), readable(name)),
  };
}

type Fail = (why: string) => never;

function parseHeader(bytes: Uint8Array, fail: Fail): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes), "it");
  } catch (thrown) {
    return fail(`its header is not JSON (${thrownText(thrown)})`);
  }
  return isRecord(value) ? value : fail("its header is not a JSON object");
}

/** Keeps strings and turns numbers and booleans into text; the format allows only strings. */
function stringsOf(value: unknown, fail: Fail): Record<string, string> {
  if (!isRecord(value)) return fail("its __metadata__ is not an object");
  const entries = Object.entries(value).map(([key, item]) => {
    if (typeof item === "object") return fail(`${quote(key)} of its __metadata__ is not a string`);
    return [key, String(item)] as const;
  });
  return Object.fromEntries(entries);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function parseEntry(name: string, value: unknown, fail: Fail): Entry {
  if (!isRecord(value)) return fail(`the entry of ${quote(name)} is not an object`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== "string") return fail(`${quote(name)} has no element type`);
  if (!Array.isArray(shape) || !shape.every(isCount)) return fail(`${quote(name)} has no valid shape`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    return fail(`${quote(name)} has no valid byte range`);
  }
  const [start, end] = offsets as [number, number];
  if (end < start) return fail(`the byte range of ${quote(name)} ends before it starts`);
  const size = isDtype(dtype) ? DTYPE_BYTES[dtype] : undefined;
  const elements = (shape as number[]).reduce((product, side) => product * side, 1);
  if (!Number.isSafeInteger(elements)) return fail(`${quote(name)} is too large`);
  if (size !== undefined && end - start !== elements * size) {
    return fail(
      `${quote(name)} takes ${end - start} bytes, its shape [${shortened(shape.join(", "), 60)}] in ${dtype} needs ${elements * size}`,
    );
  }
  return { dtype, shape: shape as number[], bytes: end - start, start, end };
}

/** Ranges must be inside the file and must not overlap. @returns the names in file order */
function checkLayout(entries: ReadonlyMap<string, Entry>, dataSize: number, fail: Fail): string[] {
  const ordered = [...entries].sort(([, a], [, b]) => a.start - b.start || a.end - b.end);
  let reached = 0;
  let before = "";
  for (const [name, { start, end }] of ordered) {
    if (end > dataSize) {
      fail(`${quote(name)} would end at data byte ${end}, the file has ${dataSize} (cut off while it was copied?)`);
    }
    if (start < reached) fail(`${quote(name)} overlaps ${quote(before)}`);
    if (end > reached) {
      reached = end;
      before = name;
    }
  }
  return ordered.map(([name]) => name);
}

// Writes safetensors that the reference reader accepts: no holes, aligned tensors, header padded to 8 bytes.

/** A tensor to write: f32 numbers, or stored bytes with their element type. */
export interface TensorToWrite {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | { readonly dtype: Dtype; readonly bytes: Uint8Array };
}

/** The header of a tensor. */
export interface Described {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
}

/**
 * The bytes of a file.
 * @throws LabError("internal") when a name repeats or data and shape disagree
 */
export function writeSafetensors(
  entries: Iterable<TensorToWrite>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const { ordered, head } = layOut([...entries].map(described), metadata);
  return joinBytes([head, ...ordered.map(({ bytes }) => bytes)]);
}

/** A tensor of a file that is larger than memory. */
export interface StreamedTensor extends Described {
  /** The elements' little-endian bytes in order; called once, when the tensor is written. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** An f32 tensor whose elements are read when it is written. */
export function streamedFloats(
  name: string,
  shape: readonly number[],
  read: () => Promise<Float32Array>,
): StreamedTensor {
  return {
    name,
    shape,
    dtype: "F32",
    async *pieces() {
      const { buffer, byteOffset, byteLength } = await read();
      yield new Uint8Array(buffer, byteOffset, byteLength);
    },
  };
}

/**
 * The bytes of `writeSafetensors` in order: the header is computed from the sizes, then tensors follow one by one.
 * @param size bytes of each piece; the last one may be shorter
 * @throws LabError("internal") when a name repeats, or a tensor yields more or fewer bytes than its shape needs
 */
export async function* streamSafetensors(
  tensors: readonly StreamedTensor[],
  size: number,
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { ordered, head, bytes } = layOut(tensors, metadata);
  let left = head.length + bytes;
  let piece = new Uint8Array(Math.min(size, left));
  let filled = 0;
  for await (const part of partsOf(head, ordered)) {
    for (let from = 0; from < part.length; ) {
      const some = part.subarray(from, from + piece.length - filled);
      piece.set(some, filled);
      filled += some.length;
      from += some.length;
      if (filled < piece.length) continue;
      yield piece;
      left -= filled;
      piece = new Uint8Array(Math.min(size, left));
      filled = 0;
    }
  }
}

/** The header, then the bytes of every tensor. */
async function* partsOf(head: Uint8Array, ordered: readonly StreamedTensor[]): AsyncGenerator<Uint8Array> {
  yield head;
  for (const tensor of ordered) {
    const needed = tensorBytes(tensor);
    const bad = (written: number): LabError =>
      new LabError("internal", `Tensor "${tensor.name}" has ${written} bytes, its shape needs ${needed}`);
    let written = 0;
    for await (const part of tensor.pieces()) {
      written += part.length;
      if (written > needed) throw bad(written);
      yield part;
    }
    if (written !== needed) throw bad(written);
  }
}

/** Number of bytes that a tensor's shape needs. */
export function tensorBytes({ shape, dtype }: Omit<Described, "name">): number {
  return shape.reduce((product, side) => product * side, 1) * DTYPE_BYTES[dtype];
}

/**
 * The tensors in file order, the bytes before them, and the tensors' size in bytes. The order is by decreasing element
 * size, then by name, so that all are aligned and the file depends only on its content.
 * @throws LabError("internal") when a name repeats
 */
export function layOut<T extends Described>(
  tensors: readonly T[],
  metadata?: Readonly<Record<string, string>>,
): { readonly ordered: readonly T[]; readonly head: Uint8Array<ArrayBuffer>; readonly bytes: number } {
  const ordered = [...tensors].sort(byAlignmentThenName);
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let bytes = 0;
  for (const tensor of ordered) {
    const { name, dtype, shape } = tensor;
    if (Object.hasOwn(header, name)) throw new LabError("internal", `Tensor "${name}" would be written twice`);
    const start = bytes;
    bytes += tensorBytes(tensor);
    header[name] = { dtype, shape, data_offsets: [start, bytes] };
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const head = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(head.length - 8), true);
  head.set(json, 8);
  return { ordered, head, bytes };
}

function described({ name, shape, data }: TensorToWrite): Described & { readonly bytes: Uint8Array } {
  const [dtype, bytes] =
    data instanceof Float32Array
      ? (["F32", new Uint8Array(data.buffer, data.byteOffset, data.byteLength)] as const)
      : ([data.dtype, data.bytes] as const);
  const needed = tensorBytes({ shape, dtype });
  if (bytes.length !== needed) {
    throw new LabError("internal", `Tensor "${name}" has ${bytes.length} bytes, its shape needs ${needed}`);
  }
  return { name, shape, dtype, bytes };
}

function byAlignmentThenName(a: Described, b: Described): number {
  const size = DTYPE_BYTES[b.dtype] - DTYPE_BYTES[a.dtype];
  return size !== 0 ? size : a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
