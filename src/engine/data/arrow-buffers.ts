/// <reference path="./lz4js.d.ts" />
import type { ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import type { ArrowBody } from "./arrow-frames.ts";

/** Buffers up to this size are fetched whole; of larger ones only pages are. */
const WHOLE_BUFFER = 2 ** 17;
const PAGE = 2 ** 15;
/** Ranges from here on bypass the pages: they are values of their own (a picture), not neighbours of many. */
const DIRECT = 2 ** 16;
const MAX_PAGES = 96;
/** Largest buffer that is unpacked from a compressed batch: a typed array cannot be relied on beyond. */
const MAX_UNPACKED = 2 ** 31;

/** Byte ranges of one batch's buffers, with small ones kept and compressed ones unpacked once. */
export interface BufferReader {
  /** Length of a buffer once unpacked. */
  size(buffer: number): Promise<number>;
  /**
   * Bytes [start, end) of a buffer; the result may be a view and must not be changed. With `direct` the range is
   * fetched exactly and not kept.
   * @throws LabError("bad-input") when the range lies outside the buffer
   */
  read(buffer: number, start: number, end: number, direct?: boolean): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reader over the body of a batch. Memory: at most 3 MiB of pages, the small buffers, and unpacked buffers. */
export function bufferReader(source: ByteSource, body: ArrowBody): BufferReader {
  const whole = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  const pages = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  const place = (buffer: number): { at: number; length: number } => {
    const region = body.buffers[buffer];
    if (region === undefined) throw outside(source, `a batch has no buffer ${buffer}`);
    return { at: body.start + region.offset, length: region.length };
  };
  const remember = (
    cache: Map<number, Promise<Uint8Array<ArrayBuffer>>>,
    key: number,
    make: () => Promise<Uint8Array<ArrayBuffer>>,
  ): Promise<Uint8Array<ArrayBuffer>> => {
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = make();
    cache.set(key, made);
    return made;
  };
  const loaded = (buffer: number): Promise<Uint8Array<ArrayBuffer>> =>
    remember(whole, buffer, async () => {
      const { at, length } = place(buffer);
      const bytes = await source.read(at, at + length);
      return body.codec === undefined ? bytes : unpack(source, bytes, body.codec);
    });
  const page = (buffer: number, number: number): Promise<Uint8Array<ArrayBuffer>> => {
    const key = `${buffer}:${number}`;
    const known = pages.get(key);
    if (known !== undefined) return known;
    const { at, length } = place(buffer);
    const made = source.read(at + number * PAGE, at + Math.min(length, (number + 1) * PAGE));
    if (pages.size >= MAX_PAGES) pages.delete(pages.keys().next().value as string);
    pages.set(key, made);
    return made;
  };
  return {
    size: async (buffer) => (body.codec === undefined ? place(buffer).length : (await loaded(buffer)).length),
    read: async (buffer, start, end, direct = false) => {
      const { at, length } = place(buffer);
      const keep = body.codec !== undefined || (length <= WHOLE_BUFFER && !direct);
      const size = keep ? (await loaded(buffer)).length : length;
      if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end && end <= size)) {
        throw outside(source, `a value at ${start} to ${end} lies outside its buffer of ${size} bytes`);
      }
      if (start === end) return new Uint8Array(0);
      if (keep) return (await loaded(buffer)).subarray(start, end);
      if (direct || end - start >= DIRECT) return source.read(at + start, at + end);
      const first = Math.floor(start / PAGE);
      const last = Math.floor((end - 1) / PAGE);
      if (first === last) return (await page(buffer, first)).subarray(start - first * PAGE, end - first * PAGE);
      const bytes = new Uint8Array(end - start);
      for (let number = first; number <= last; number++) {
        const from = Math.max(start, number * PAGE);
        const to = Math.min(end, (number + 1) * PAGE);
        const piece = await page(buffer, number);
        bytes.set(piece.subarray(from - number * PAGE, to - number * PAGE), from - start);
      }
      return bytes;
    },
  };
}

/** A compressed buffer: int64 length of the content, -1 when it is stored as it is, then the codec's frame. */
async function unpack(
  source: ByteSource,
  bytes: Uint8Array<ArrayBuffer>,
  codec: "lz4" | "zstd",
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length === 0) return bytes;
  if (bytes.length < 8) throw outside(source, `a ${codec} buffer has only ${bytes.length} bytes`);
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true));
  const packed = bytes.subarray(8);
  if (size === -1) return packed;
  if (size < 0 || size > MAX_UNPACKED) throw outside(source, `a ${codec} buffer claims ${size} bytes of content`);
  if (size === 0) return new Uint8Array(0);
  let content: Uint8Array;
  try {
    content = codec === "lz4" ? (await lz4())(packed, size) : (await import("fzstd")).decompress(packed);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw outside(source, `a ${codec} buffer could not be unpacked (${cause})`);
  }
  if (content.length !== size) {
    throw outside(source, `a ${codec} buffer holds ${content.length} bytes where ${size} are stated`);
  }
  // A copy: the zstd decoder hands out a view into a larger, unaligned buffer.
  return content.slice() as Uint8Array<ArrayBuffer>;
}

async function lz4(): Promise<(packed: Uint8Array, size: number) => Uint8Array> {
  // A CommonJS module: bundlers and Node differ in whether its functions are named or sit below `default`.
  const module = (await import("lz4js")) as { decompress?: typeof import("lz4js").decompress; default?: unknown };
  return module.decompress ?? (module.default as typeof import("lz4js")).decompress;
}

function outside(source: ByteSource, what: string): LabError {
  return new LabError("bad-input", `${source.name}: ${what}; the file is damaged`, { subject: source.name });
}
