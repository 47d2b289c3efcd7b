import { PLUGIN_CODECS } from "../../../plugins/codecs.ts";
import type { Codec } from "../../../plugins/plugin.ts";
import { type ByteSource, IS_POINTER, isPointer, viewOf } from "../../bytes/source.ts";
import { type DecodedSchema, decodeSchema, type FlatReader, flatReader } from "./arrow-schema.ts";

/** Format by the first bytes of a file: an Arrow layout, or a sentence part that names the other format. */
type Sniffed = { readonly kind: "stream" | "file" } | { readonly kind: "other"; readonly what: string };

const text = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

/** Other file formats, by their first bytes. */
const MAGICS: readonly (readonly [string, string])[] = [
  ["FEA1", "is a Feather version 1 file; only Arrow IPC streams and files are supported"],
  ["PK\u0003\u0004", "is a ZIP archive; give it the ending .zip"],
  ["\u001f\u008b", "is gzip-compressed; unpack it and add the .arrow files"],
  ["\u0028\u00b5\u002f\u00fd", "is zstd-compressed as a whole; unpack it and add the .arrow files"],
  ["\u0004\u0022\u004d\u0018", "is lz4-compressed as a whole; unpack it and add the .arrow files"],
];

/** Reads at most 512 bytes of a source and names its format. Does not throw for invalid content. */
export async function sniffArrow(source: ByteSource): Promise<Sniffed> {
  if (source.size === 0) return other("is empty (0 bytes)");
  const head = await source.read(0, Math.min(512, source.size));
  if (isPointer(head)) return other(IS_POINTER);
  const start = text(head);
  for (const [magic, what] of MAGICS) if (start.startsWith(magic)) return other(what);
  if (start.startsWith("ARROW1")) return { kind: "file" };
  if (start.slice(257, 262) === "ustar") {
    return other("is a tar archive; give it the ending .tar");
  }
  const wanted = /\.(parquet|pq)$/i.test(source.name) ? "Parquet" : "Arrow";
  if (looksLikeText(head)) {
    const shown = start.slice(0, 40).replace(/\s+/g, " ").trim();
    return other(`is text, not ${wanted}; it begins with ${JSON.stringify(shown)}`);
  }
  // Files are often renamed, but random bytes that state a length are not Arrow because of it.
  const isMarked = head.length >= 8 && viewOf(head).getInt32(0, true) === -1;
  if (wanted === "Parquet" && !isMarked) return other("is not a Parquet file: it does not begin with PAR1");
  if (head.length < 8) return other(`has only ${source.size} bytes, too few for an Arrow file`);
  const view = viewOf(head);
  const [first, second] = [view.getInt32(0, true), view.getInt32(4, true)];
  // The continuation marker, or before Arrow 0.15 the length of the schema message alone.
  const length = first === -1 ? second : first;
  if (length === 0) return other("has an Arrow end marker but no schema");
  if (length < 8 || length > MAX_METADATA) return other("is not an Arrow IPC stream or file");
  return { kind: "stream" };
}

/** Maximum metadata of one message: a header describes buffers but does not hold them. */
export const MAX_METADATA = 2 ** 26;

function other(what: string): Sniffed {
  return { kind: "other", what };
}

/** Whether all bytes are printable: no control characters except tab and line ends (bytes from 128 may be UTF-8). */
function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte >= 32 || byte === 9 || byte === 10 || byte === 13) && bytes[0] !== 0xff;
}

/** Header of a record or dictionary batch: positions of nodes and buffers, no values. */
export interface ArrowBody {
  readonly rows: number;
  /** Byte at which the body begins in the source. */
  readonly start: number;
  readonly bytes: number;
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  /** Buffers relative to the start of the body. */
  readonly buffers: readonly { readonly offset: number; readonly length: number }[];
  readonly variadicCounts: readonly number[];
  readonly codec: Codec | undefined;
}

/** Content at a position of an Arrow file; `broken` completes a sentence that begins with the position. */
type ArrowMessage =
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly what: string }
  | { readonly kind: "schema"; readonly schema: DecodedSchema; readonly next: number }
  | { readonly kind: "batch"; readonly body: ArrowBody; readonly next: number }
  | {
      readonly kind: "dictionary";
      readonly id: number;
      readonly isDelta: boolean;
      readonly body: ArrowBody;
      readonly next: number;
    }
  | { readonly kind: "other"; readonly next: number };

/** Maximum rows of one batch, the limit of 32-bit offsets. */
const MAX_ROWS = 2 ** 31;
const CODECS = ["LZ4_FRAME", "ZSTD"] as const;
/** @param size bytes of the file */
const cutAt = (size: number): string => `is cut off at byte ${size}`;

/**
 * Reads the header of the message at a position: 8 bytes (4 before Arrow 0.15) and the metadata, not the body. The end
 * marker and the end of the file are both "end". Does not throw for invalid content.
 */
export async function readMessage(source: ByteSource, position: number): Promise<ArrowMessage> {
  const left = source.size - position;
  if (left <= 0) return { kind: "end" };
  if (left < 4) return broken(cutAt(source.size));
  const prefix = viewOf(await source.read(position, position + Math.min(8, left)));
  const continued = prefix.getInt32(0, true) === -1;
  if (continued && left < 8) return broken(cutAt(source.size));
  const length = prefix.getInt32(continued ? 4 : 0, true);
  if (length === 0) return { kind: "end" };
  const start = position + (continued ? 8 : 4);
  if (length < 8 || length > MAX_METADATA) return broken(`has an impossible header of ${length} bytes`);
  if (start + length > source.size) return broken(cutAt(source.size));
  const metadata = await source.read(start, start + length);
  try {
    return interpret(metadata, start + length, source.size);
  } catch {
    // A damaged header leads to a read out of range, or holds an unknown type.
    return broken("has a damaged or unsupported header");
  }
}

/** Kinds of message header, in the numbers of the format (Message.fbs). */
const SCHEMA = 1;
const DICTIONARY = 2;
const BATCH = 3;
const LAST_KIND = 5;

/** Message: header type 1, header 2, body length 3. @throws when it is damaged */
function interpret(metadata: Uint8Array, bodyStart: number, size: number): ArrowMessage {
  const flat = flatReader(metadata);
  const root = flat.root();
  const typeAt = flat.field(root, 1);
  const type = typeAt === 0 ? 0 : flat.view.getUint8(typeAt);
  const header = flat.reference(root, 2);
  const bodyLength = flat.long(root, 3);
  if (!Number.isSafeInteger(bodyLength) || bodyLength < 0) return broken(`declares a body of ${bodyLength} bytes`);
  const next = bodyStart + bodyLength;
  if (next > size) return broken(`${cutAt(size)}: it needs ${next} bytes`);
  if (type === SCHEMA) return { kind: "schema", schema: decodeSchema(metadata), next };
  if (type < SCHEMA || type > LAST_KIND || header === 0) return broken("is of an unsupported kind");
  // Tensors and other kinds are not part of a table.
  if (type !== DICTIONARY && type !== BATCH) return { kind: "other", next };
  const batch = type === BATCH ? header : flat.reference(header, 1);
  if (batch === 0) return broken("has no values");
  const body = readBody(flat, batch, bodyStart, bodyLength);
  if (typeof body === "string") return broken(body);
  if (type === BATCH) return { kind: "batch", body, next };
  const deltaAt = flat.field(header, 2);
  const isDelta = deltaAt !== 0 && flat.view.getUint8(deltaAt) !== 0;
  return { kind: "dictionary", id: flat.long(header, 0), isDelta, body, next };
}

/**
 * RecordBatch: length 0, nodes 1 and buffers 2 (pairs of 64-bit integers), compression 3, variadic counts 4.
 * @returns the rest of a sentence when it is inconsistent with its body
 * @throws RangeError when it is damaged
 */
function readBody(flat: FlatReader, batch: number, start: number, bytes: number): ArrowBody | string {
  const within = (value: number, limit: number): boolean => Number.isSafeInteger(value) && value >= 0 && value <= limit;
  const pairs = (index: number): [number, number][] => {
    const vector = flat.vector(batch, index, 16);
    const number = (at: number): number => Number(flat.view.getBigInt64(vector.start + 8 * at, true));
    return Array.from({ length: vector.length }, (_, at) => [number(2 * at), number(2 * at + 1)]);
  };
  const rows = flat.long(batch, 0);
  const nodes = pairs(1).map(([length, nullCount]) => ({ length, nullCount }));
  const buffers = pairs(2).map(([offset, length]) => ({ offset, length }));
  if (![rows, ...nodes.flatMap((node) => [node.length, node.nullCount])].every((count) => within(count, MAX_ROWS))) {
    return "declares an impossible row count";
  }
  for (const { offset, length } of buffers) {
    if (!within(offset, bytes) || !within(length, bytes - offset)) {
      return `has a buffer at ${offset} of ${length} bytes outside its body of ${bytes} bytes`;
    }
  }
  const compression = flat.reference(batch, 3);
  const codecAt = compression === 0 ? 0 : flat.field(compression, 0);
  const number = codecAt === 0 ? 0 : flat.view.getInt8(codecAt);
  const name = CODECS[number];
  if (compression !== 0 && name === undefined) return `uses the unknown compression ${number}`;
  const codec = compression === 0 || name === undefined ? undefined : PLUGIN_CODECS.find((one) => one.name === name);
  if (compression !== 0 && codec === undefined)
    return `is compressed with ${name}, which this build has no plug-in for`;
  const counts = flat.vector(batch, 4, 8);
  const variadicCounts = Array.from({ length: counts.length }, (_, at) =>
    Number(flat.view.getBigInt64(counts.start + 8 * at, true)),
  );
  if (!variadicCounts.every((count) => within(count, buffers.length)))
    return "declares an impossible number of data buffers";
  return { rows, start, bytes, nodes, buffers, variadicCounts, codec };
}

function broken(what: string): ArrowMessage {
  return { kind: "broken", what };
}
