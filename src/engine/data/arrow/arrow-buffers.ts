import type { Codec } from "../../../plugins/plugin.ts";
import { Lru } from "../../bytes/collections.ts";
import { type ByteSource, viewOf } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import type { ArrowBody } from "./arrow-frames.ts";

/** Buffers up to this size are fetched whole, larger ones in pages. */
const WHOLE_BUFFER = 2 ** 17;
const PAGE = 2 ** 17;
/** Ranges of at least this size bypass the pages, because they hold one large value, such as a picture. */
const DIRECT = 2 ** 17;
const MAX_PAGES = 32;
/** Maximum unpacked bytes of a batch's buffers: the size of a typical shard, half a gigabyte. */
const MAX_UNPACKED = 2 ** 29;
/** Content bytes per packed byte that a buffer may always have: LZ4's best ratio. */
const USUAL_RATIO = 255;
/** Maximum unpacked bytes of a buffer beyond that ratio; Zstandard can hold a gigabyte in 32 kB. */
const MAX_BESIDE = 2 ** 26;

/** Byte ranges of one batch's buffers; caches small buffers and unpacks compressed ones once. */
export interface BufferReader {
  /** Unpacked length of a buffer. */
  size(buffer: number): Promise<number>;
  /**
   * Bytes [start, end) of a buffer; the result may be a view and must not be modified. With `direct` exactly this range is
   * fetched and not cached.
   * @throws LabError("bad-input") when the range lies outside the buffer
   */
  read(buffer: number, start: number, end: number, direct?: boolean): Promise<Uint8Array<ArrayBuffer>>;
  /** Bytes of cached unpacked buffers. */
  unpacked(): number;
}

/** Reader over the body of a batch. Memory: at most 4 MiB of pages, the small buffers, and unpacked buffers. */
export function bufferReader(source: ByteSource, body: ArrowBody): BufferReader {
  const whole = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  const pages = new Lru<string, Promise<Uint8Array<ArrayBuffer>>>(MAX_PAGES);
  let unpacked = 0;
  const place = (buffer: number): { at: number; length: number } => {
    const region = body.buffers[buffer];
    if (region === undefined) throw outside(source, `a batch has no buffer ${buffer}`);
    return { at: body.start + region.offset, length: region.length };
  };
  const loaded = (buffer: number): Promise<Uint8Array<ArrayBuffer>> => {
    const known = whole.get(buffer) ?? load(buffer);
    whole.set(buffer, known);
    return known;
  };
  const load = async (buffer: number): Promise<Uint8Array<ArrayBuffer>> => {
    const { at, length } = place(buffer);
    if (body.codec === undefined) return source.read(at, at + length);
    // Checked before reading: packed bytes exceed their content by at most a frame header.
    if (unpacked + length - WHOLE_BUFFER > MAX_UNPACKED) throw tooLarge();
    const bytes = await source.read(at, at + length);
    unpacked += statedSize(bytes, length, body.codec) ?? 0;
    if (unpacked > MAX_UNPACKED) throw tooLarge();
    return unpack(source, bytes, body.codec);
  };
  const tooLarge = (): LabError =>
    new LabError(
      "unsupported",
      `${source.name}: a batch unpacks to more than ${MAX_UNPACKED} bytes; write the file again with smaller batches`,
    );
  const page = (buffer: number, number: number): Promise<Uint8Array<ArrayBuffer>> => {
    const { at, length } = place(buffer);
    return pages.get(`${buffer}:${number}`, () =>
      source.read(at + number * PAGE, at + Math.min(length, (number + 1) * PAGE)),
    );
  };
  return {
    unpacked: () => unpacked,
    size: async (buffer) => (body.codec === undefined ? place(buffer).length : (await loaded(buffer)).length),
    read: async (buffer, start, end, direct = false) => {
      const { at, length } = place(buffer);
      const keep = body.codec !== undefined || (length <= WHOLE_BUFFER && !direct);
      const size = keep ? (await loaded(buffer)).length : length;
      if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end && end <= size)) {
        throw outside(source, `a value at ${start} to ${end} is outside its buffer of ${size} bytes`);
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

/**
 * Unpacked size that a buffer declares in its first eight bytes (an int64, -1 for uncompressed content); undefined if a
 * frame of that length cannot hold it.
 * @param length stored bytes of the buffer
 */
function statedSize(head: Uint8Array, length: number, codec: Codec): number | undefined {
  if (length === 0) return 0;
  if (length < 8) return undefined;
  const size = Number(viewOf(head).getBigInt64(0, true));
  if (size === -1) return length - 8;
  const beside = codec.ratio > USUAL_RATIO ? Math.min(MAX_BESIDE, (length - 8) * codec.ratio) : 0;
  const most = (length - 8) * USUAL_RATIO + beside;
  return size >= 0 && size <= Math.min(MAX_UNPACKED, most) ? size : undefined;
}

/** Unpacked bytes of a buffer, from its header; 0 if impossible. */
export async function contentSize(source: ByteSource, body: ArrowBody, buffer: number): Promise<number> {
  const region = body.buffers[buffer];
  if (region === undefined) return 0;
  if (body.codec === undefined) return region.length;
  const start = body.start + region.offset;
  const head = await source.read(start, start + Math.min(8, region.length));
  return statedSize(head, region.length, body.codec) ?? 0;
}

/** A compressed buffer: the length of its content, then the codec's frame or the content itself. */
function unpack(source: ByteSource, bytes: Uint8Array<ArrayBuffer>, codec: Codec): Uint8Array<ArrayBuffer> {
  const size = statedSize(bytes, bytes.length, codec);
  if (size === undefined)
    throw outside(
      source,
      `a ${codec.name} buffer of ${bytes.length} bytes declares an impossible size`,
      codec.ratio > USUAL_RATIO,
    );
  if (size === 0) return new Uint8Array(0);
  const packed = bytes.subarray(8);
  if (viewOf(bytes).getBigInt64(0, true) === -1n) return packed;
  try {
    return codec.decode(packed, size);
  } catch (thrown) {
    throw outside(source, `a ${codec.name} buffer could not be unpacked (${thrownText(thrown)})`);
  }
}

/** @param dense whether a valid file may be too dense to be unpacked within bounds */
function outside(source: ByteSource, what: string, dense = false): LabError {
  const why = dense ? "the file is damaged, or must be written without compression" : "the file is damaged";
  return badInput(`${source.name}: ${what}; ${why}`, source.name);
}
