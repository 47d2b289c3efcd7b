/**
 * Reads safetensors: eight bytes of header length, a JSON header, then the raw elements. Opening reads only the header;
 * each tensor is fetched by its byte range.
 */
import { isRecord, parseJson } from "../bytes/json.ts";
import type { ByteSource } from "../bytes/source.ts";
import { badInput, LabError, quote, shortened, thrownText } from "../errors.ts";
import { DTYPE_BYTES, type Dtype, isDtype, toFloat32 } from "./dtype.ts";

/** The first four bytes of a zip archive, as a little-endian number. */
const ZIP = 0x04034b50n;

/** Same limit as the reference reader. */
const MAX_HEADER = 100_000_000;

export interface TensorInfo {
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
  if (declared > BigInt(MAX_HEADER)) fail("its header length is implausible (is it a Git LFS pointer or a page?)");
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
