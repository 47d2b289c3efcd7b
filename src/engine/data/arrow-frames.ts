import { Message, MessageHeader, type Schema } from "apache-arrow";
import { viewOf } from "../bytes/memory.ts";
import type { ByteSource } from "../bytes/source.ts";
import { isBigEndian } from "./arrow-order.ts";
import { MAX_METADATA } from "./arrow-sniff.ts";
import { checkType } from "./arrow-types.ts";

/** Header of a record or dictionary batch: where everything lies, nothing of the values. */
export interface ArrowBody {
  readonly rows: number;
  /** Byte at which the body begins in the source. */
  readonly start: number;
  readonly bytes: number;
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  /** Buffers relative to the start of the body. */
  readonly buffers: readonly { readonly offset: number; readonly length: number }[];
  readonly variadicCounts: readonly number[];
  readonly codec: "lz4" | "zstd" | undefined;
}

/** What stands at a place of an Arrow file; `broken` is the rest of a sentence that begins with the place. */
export type ArrowMessage =
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly what: string }
  | { readonly kind: "schema"; readonly schema: Schema; readonly bigEndian: boolean; readonly next: number }
  | { readonly kind: "batch"; readonly body: ArrowBody; readonly next: number }
  | {
      readonly kind: "dictionary";
      readonly id: number;
      readonly isDelta: boolean;
      readonly body: ArrowBody;
      readonly next: number;
    }
  | { readonly kind: "other"; readonly next: number };

/** Rows of one batch; offsets of 32 bits reach no further. */
const MAX_ROWS = 2 ** 31;
const CODECS = ["lz4", "zstd"] as const;
const CUT = "is cut off by the end of the file";

/**
 * Reads the header of the message at a position: 8 bytes (4 before Arrow 0.15) and the metadata, not the body. The end
 * marker and the end of the file are both "end". Never throws for odd content.
 */
export async function readMessage(source: ByteSource, position: number): Promise<ArrowMessage> {
  const left = source.size - position;
  if (left <= 0) return { kind: "end" };
  if (left < 4) return broken(CUT);
  const prefix = viewOf(await source.read(position, position + Math.min(8, left)));
  const continued = prefix.getInt32(0, true) === -1;
  if (continued && left < 8) return broken(CUT);
  const length = prefix.getInt32(continued ? 4 : 0, true);
  if (length === 0) return { kind: "end" };
  const start = position + (continued ? 8 : 4);
  if (length < 8 || length > MAX_METADATA) return broken(`has a header of ${length} bytes, which cannot be`);
  if (start + length > source.size) return broken(CUT);
  const metadata = await source.read(start, start + length);
  try {
    return interpret(Message.decode(metadata) as Message, metadata, start + length, source.size);
  } catch {
    // The library meets damaged headers with range and type errors of its own.
    return broken("has a damaged header, or one of a kind not known here");
  }
}

function interpret(message: Message, metadata: Uint8Array, bodyStart: number, size: number): ArrowMessage {
  const { bodyLength } = message;
  if (!Number.isSafeInteger(bodyLength) || bodyLength < 0) return broken(`states a body of ${bodyLength} bytes`);
  const next = bodyStart + bodyLength;
  if (next > size) return broken(`is cut off: it needs ${next} bytes, the file has ${size}`);
  if (message.isSchema()) {
    const schema = message.header();
    for (const field of schema.fields) checkType(field.type);
    return { kind: "schema", schema, bigEndian: isBigEndian(metadata, "message"), next };
  }
  const dictionary = message.isDictionaryBatch() ? message.header() : undefined;
  const header = dictionary?.data ?? (message.isRecordBatch() ? message.header() : undefined);
  if (header === undefined) {
    // Tensors and the like carry nothing for a table; an unknown kind is damage.
    const known = MessageHeader[message.headerType] !== undefined && message.headerType !== MessageHeader.NONE;
    return known ? { kind: "other", next } : broken("is of a kind not known here");
  }
  const body = toBody(header, bodyStart, bodyLength);
  if (typeof body === "string") return broken(body);
  if (dictionary === undefined) return { kind: "batch", body, next };
  return { kind: "dictionary", id: dictionary.id, isDelta: dictionary.isDelta, body, next };
}

interface Header {
  readonly length: number;
  readonly nodes: readonly { length: number; nullCount: number }[];
  readonly buffers: readonly { offset: number; length: number }[];
  readonly variadicBufferCounts: readonly number[];
  readonly compression: { readonly type: number } | null;
}

/** The checked header of a batch, or the rest of a sentence that says what is wrong with it. */
function toBody(header: Header, start: number, bytes: number): ArrowBody | string {
  const { length, nodes, buffers, compression } = header;
  const within = (value: number, limit: number): boolean => Number.isSafeInteger(value) && value >= 0 && value <= limit;
  if (![length, ...nodes.flatMap((node) => [node.length, node.nullCount])].every((count) => within(count, MAX_ROWS))) {
    return "states an absurd row count";
  }
  for (const { offset, length: size } of buffers) {
    if (!within(offset, bytes) || !within(size, bytes - offset)) {
      return `has a buffer at ${offset} of ${size} bytes outside its body of ${bytes} bytes`;
    }
  }
  // Every value of a column with buffers takes a bit at least: no header can make a reader walk rows that are not there.
  if (compression === null && buffers.length > 0 && length > 8 * bytes) {
    return `states ${length} rows in a body of ${bytes} bytes`;
  }
  const codec = compression === null ? undefined : CODECS[compression.type];
  if (compression !== null && codec === undefined) return `uses the unknown compression ${compression.type}`;
  return {
    rows: length,
    start,
    bytes,
    nodes: nodes.map((node) => ({ length: node.length, nullCount: node.nullCount })),
    buffers: buffers.map((buffer) => ({ offset: buffer.offset, length: buffer.length })),
    variadicCounts: [...header.variadicBufferCounts].map(Number),
    codec,
  };
}

function broken(what: string): ArrowMessage {
  return { kind: "broken", what };
}
