import { type DataType, type Field, Message, MessageHeader, type Schema } from "apache-arrow";
import type { ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { MAX_METADATA, sniffArrow } from "./arrow-sniff.ts";

/** One buffer of a batch, relative to its body. */
export interface ArrowBuffer {
  readonly offset: number;
  readonly length: number;
}

/** Header of a record or dictionary batch: where everything lies, nothing of the values. */
export interface ArrowBody {
  readonly rows: number;
  /** Byte at which the body begins in the source. */
  readonly start: number;
  readonly bytes: number;
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  readonly buffers: readonly ArrowBuffer[];
  readonly variadicCounts: readonly number[];
  readonly codec: "lz4" | "zstd" | undefined;
}

/** Dictionary values: a base and any deltas after it, in order. */
export type DictionaryParts = readonly ArrowBody[];

export interface ArrowBatch extends ArrowBody {
  /** Row of the file with which the batch begins. */
  readonly firstRow: number;
  /** Dictionaries by id as they stand at this batch; a function because a file may hold them after the batch. */
  readonly dictionaries: () => ReadonlyMap<number, DictionaryParts>;
}

/** What is known of an Arrow file after reading message headers only. */
export interface ArrowIndex {
  readonly source: ByteSource;
  readonly format: "stream" | "file";
  readonly fields: readonly Field<DataType>[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly batches: readonly ArrowBatch[];
  readonly rows: number;
  /** One sentence when the file is damaged: what is wrong and how many rows were kept. */
  readonly problem: string | undefined;
}

const CODECS = ["lz4", "zstd"] as const;

/**
 * Indexes an Arrow IPC stream or file by its message headers, a few hundred bytes each; bodies are skipped. A file
 * that is cut off keeps its complete batches and states the `problem`.
 * @throws LabError("bad-input") when it is not Arrow at all (the sentence names what it is), has a damaged schema or
 *   is big-endian; LabError("cancelled") when the signal fires
 */
export async function indexArrow(source: ByteSource, options: { signal?: AbortSignal } = {}): Promise<ArrowIndex> {
  const sniffed = await sniffArrow(source);
  if (sniffed.kind === "other") throw bad(source, sniffed.what);
  let schema: Schema | undefined;
  let problem: string | undefined;
  let rows = 0;
  const batches: ArrowBatch[] = [];
  let dictionaries: Map<number, DictionaryParts> = new Map();
  // In the file layout a dictionary may follow the batch that uses it: all batches see the final state.
  const final = (): ReadonlyMap<number, DictionaryParts> => dictionaries;
  let position = sniffed.kind === "file" ? 8 : 0;
  while (true) {
    if (options.signal?.aborted) throw new LabError("cancelled", `reading ${source.name} was cancelled`);
    const place = schema === undefined ? "the schema" : `record batch ${batches.length + 1}`;
    const frame = await readFrame(source, position);
    if (frame === "end") break;
    if (frame === "cut") {
      problem = `the file ends in the middle of ${place}, at byte ${source.size}`;
      break;
    }
    const message = decode(frame.metadata);
    if (message === undefined) {
      problem = `the header of ${place} at byte ${position} is damaged`;
      break;
    }
    const { bodyLength } = message;
    if (!Number.isSafeInteger(bodyLength) || bodyLength < 0) {
      problem = `the header of ${place} states a body of ${bodyLength} bytes`;
      break;
    }
    if (message.isSchema()) {
      if (isBigEndian(frame.metadata))
        throw bad(source, "is a big-endian Arrow file; write it again on a usual machine");
      schema ??= message.header();
    } else if (schema === undefined) {
      throw bad(source, "has no schema before its first batch");
    } else {
      if (frame.bodyStart + bodyLength > source.size) {
        problem = `the file ends in the middle of ${place}, which needs ${frame.bodyStart + bodyLength} bytes of ${source.size}`;
        break;
      }
      const dictionary = message.isDictionaryBatch() ? message.header() : undefined;
      const header = dictionary?.data ?? (message.isRecordBatch() ? message.header() : undefined);
      // Messages of other kinds (tensors) carry nothing for a table.
      if (header !== undefined) {
        const body = toBody(header, frame.bodyStart, bodyLength);
        if (typeof body === "string") {
          problem = `${place} ${body}`;
          break;
        }
        if (dictionary !== undefined) {
          const before = dictionary.isDelta ? (dictionaries.get(dictionary.id) ?? []) : [];
          dictionaries = new Map(dictionaries).set(dictionary.id, [...before, body]);
        } else {
          const seen = dictionaries;
          batches.push({ ...body, firstRow: rows, dictionaries: sniffed.kind === "file" ? final : () => seen });
          rows += body.rows;
        }
      }
    }
    position = frame.bodyStart + bodyLength;
  }
  if (schema === undefined) throw bad(source, `has no readable schema: ${problem ?? "it is empty"}`);
  if (problem !== undefined) {
    problem = `${source.name}: ${problem}; the ${batches.length} complete batches with ${rows} rows before it are kept`;
  }
  const { fields, metadata } = schema;
  return { source, format: sniffed.kind, fields, metadata, batches, rows, problem };
}

/** Metadata bytes of the message at a position and where its body begins; "end" at the end marker or end of file. */
async function readFrame(
  source: ByteSource,
  position: number,
): Promise<{ metadata: Uint8Array<ArrayBuffer>; bodyStart: number } | "end" | "cut"> {
  const left = source.size - position;
  if (left <= 0) return "end";
  if (left < 4) return "cut";
  const prefix = new DataView((await source.read(position, position + Math.min(8, left))).buffer);
  const continued = prefix.getInt32(0, true) === -1;
  if (continued && left < 8) return "cut";
  const length = prefix.getInt32(continued ? 4 : 0, true);
  if (length === 0) return "end";
  const start = position + (continued ? 8 : 4);
  if (length < 0 || length > MAX_METADATA) return { metadata: new Uint8Array(0), bodyStart: start };
  if (start + length > source.size) return "cut";
  return { metadata: await source.read(start, start + length), bodyStart: start + length };
}

function decode(metadata: Uint8Array): Message | undefined {
  if (metadata.length < 8) return undefined;
  try {
    const message = Message.decode(metadata) as Message;
    return MessageHeader[message.headerType] === undefined || message.headerType === MessageHeader.NONE
      ? undefined
      : message;
  } catch {
    // The library throws range and type errors on damaged flatbuffers; the caller states the place.
    return undefined;
  }
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
  const counts = [length, ...nodes.flatMap((node) => [node.length, node.nullCount])];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0))
    return "states a negative or absurd row count";
  for (const { offset, length: size } of buffers) {
    if (
      !Number.isSafeInteger(offset) ||
      !Number.isSafeInteger(size) ||
      offset < 0 ||
      size < 0 ||
      offset + size > bytes
    ) {
      return `has a buffer at ${offset} of ${size} bytes outside its body of ${bytes} bytes`;
    }
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

/** Byte order of a schema message: field 0 of the table its `header` field points to (the library drops it). */
function isBigEndian(metadata: Uint8Array): boolean {
  const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength);
  const field = (table: number, index: number): number => {
    const vtable = table - view.getInt32(table, true);
    const at = 4 + 2 * index;
    return at < view.getUint16(vtable, true) ? view.getUint16(vtable + at, true) : 0;
  };
  try {
    const message = view.getUint32(0, true);
    const header = message + field(message, 2);
    const schema = header + view.getUint32(header, true);
    const order = field(schema, 0);
    return order !== 0 && view.getInt16(schema + order, true) === 1;
  } catch {
    // Out of range: the decoder has already accepted the message, so the byte order is the default.
    return false;
  }
}

function bad(source: ByteSource, what: string): LabError {
  return new LabError("bad-input", `${source.name} ${what}`, { subject: source.name });
}
