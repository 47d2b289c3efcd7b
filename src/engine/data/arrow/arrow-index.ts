import { viewOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import type { Table } from "../tables/table.ts";
import { missingRows } from "./arrow-capacity.ts";
import { type DictionariesAt, DictionaryHistory } from "./arrow-dictionaries.ts";
import { type ArrowBody, readMessage } from "./arrow-frames.ts";
import { type DecodedSchema, decodeFooter } from "./arrow-schema.ts";
import { MAX_METADATA, sniffArrow } from "./arrow-sniff.ts";

export interface ArrowBatch extends ArrowBody {
  /** First row of the batch in the file. */
  readonly firstRow: number;
  /** Dictionaries by id, valid for this batch. */
  readonly dictionaries: DictionariesAt;
}

/** Index of an Arrow file from its message headers. */
export interface ArrowIndex extends Pick<Table, "columns" | "rows" | "problem"> {
  /** Metadata of the schema, such as the `huggingface` key. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly batches: readonly ArrowBatch[];
}

/**
 * Indexes an Arrow IPC stream or file by its message headers, a few hundred bytes each; bodies are skipped. A truncated
 * file keeps its complete batches and has a `problem`.
 * @throws LabError("bad-input") when it is not Arrow (the sentence names its format), has a damaged schema or is
 *   big-endian; LabError("cancelled") when the signal aborts
 */
export async function indexArrow(source: ByteSource, signal?: AbortSignal): Promise<ArrowIndex> {
  const sniffed = await sniffArrow(source);
  if (sniffed.kind === "other") throw bad(source, sniffed.what);
  const format = sniffed.kind;
  const footer = format === "file" ? await readFooter(source) : undefined;
  // The file layout lists its messages in the footer; a stream, or a file without its end, is read message by message.
  const listed = footer?.positions.values();
  let schema: DecodedSchema | undefined = footer;
  let position = listed === undefined ? (format === "file" ? 8 : 0) : (listed.next().value ?? source.size);
  let problem: string | undefined = format === "file" && footer === undefined ? "the footer is missing" : undefined;
  let rows = 0;
  const batches: ArrowBatch[] = [];
  const dictionaries = new DictionaryHistory();
  const ends = { dictionary: 0, batch: 0 };
  while (true) {
    if (signal?.aborted) throw new LabError("cancelled", `reading ${source.name} was cancelled`);
    const message = await readMessage(source, position);
    if (message.kind === "end") {
      if (listed !== undefined && position < source.size) problem = `record batch ${batches.length + 1} has no header`;
      else if (format === "stream" && (await hasMore(source, position))) problem = "bytes follow the end of the stream";
      break;
    }
    let broken = message.kind === "broken" ? message.what : undefined;
    if (message.kind === "batch" || message.kind === "dictionary") {
      // A footer could list the same bytes many times.
      if (position < ends[message.kind]) broken = "overlaps the previous one";
      ends[message.kind] = message.next;
    }
    if (message.kind === "batch" && schema !== undefined) {
      broken ??= await missingRows(source, message.body, schema.columns);
    }
    if (broken !== undefined || message.kind === "broken") {
      problem = `${schema === undefined ? "the schema" : `record batch ${batches.length + 1}`} ${broken}`;
      break;
    }
    if (message.kind === "schema") {
      if (message.schema.bigEndian) throw bigEndian(source);
      schema ??= message.schema;
    } else if (schema === undefined) {
      throw bad(source, "has batches but no schema; its end, which holds the schema, seems to be cut off");
    } else if (message.kind === "dictionary") {
      dictionaries.add(message.id, message.body, message.isDelta, batches.length);
    } else if (message.kind === "batch") {
      batches.push({ ...message.body, firstRow: rows, dictionaries: dictionaries.at(batches.length) });
      rows += message.body.rows;
    }
    position = listed === undefined ? message.next : (listed.next().value ?? source.size);
  }
  if (schema === undefined) throw bad(source, `has no readable schema: ${problem ?? "there is none"}`);
  if (problem !== undefined) {
    const batch = batches.length === 1 ? "1 complete batch" : `${batches.length} complete batches`;
    problem = `${source.name}: ${problem}; ${batch} with ${rows} ${rows === 1 ? "row" : "rows"} before it kept`;
  }
  const { columns, metadata } = schema;
  return { columns, metadata, batches, rows, problem };
}

/** Bytes inspected after the end of a stream. */
const BEHIND = 2 ** 20;

/** Whether anything but zeros follows the end marker at a position, such as a second stream or an overwritten batch. */
async function hasMore(source: ByteSource, position: number): Promise<boolean> {
  const rest = await source.read(position, Math.min(source.size, position + BEHIND));
  // The marker itself is four zeros, after four bytes 255 since Arrow 0.15.
  const start = rest[0] === 255 ? 4 : 0;
  return rest.subarray(start).some((byte) => byte !== 0);
}

/** Schema and message positions (dictionaries first) of the file layout; undefined when its end is missing or damaged. */
async function readFooter(source: ByteSource): Promise<ReturnType<typeof decodeFooter> | undefined> {
  if (source.size < 18) return undefined;
  const end = await source.read(source.size - 10, source.size);
  if (String.fromCharCode(...end.subarray(4)) !== "ARROW1") return undefined;
  const length = viewOf(end).getInt32(0, true);
  if (length <= 0 || length > MAX_METADATA || length > source.size - 18) return undefined;
  const bytes = await source.read(source.size - 10 - length, source.size - 10);
  let found: ReturnType<typeof decodeFooter>;
  try {
    found = decodeFooter(bytes);
  } catch {
    // Damaged: the messages are read one by one instead.
    return undefined;
  }
  if (found.bigEndian) throw bigEndian(source);
  const inside = found.positions.every((at) => Number.isSafeInteger(at) && at >= 8 && at < source.size);
  return inside ? found : undefined;
}

function bigEndian(source: ByteSource): LabError {
  return bad(source, "is a big-endian Arrow file, which is not supported; write it again as little-endian");
}

function bad(source: ByteSource, what: string): LabError {
  return badInput(`${source.name} ${what}`, source.name);
}
