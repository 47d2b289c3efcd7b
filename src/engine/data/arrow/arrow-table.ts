import { Lru } from "../../bytes/collections.ts";
import { type ByteSource, viewOf } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { type Column, fixedWidth, type Table, valueMeter } from "../tables/table.ts";
import { contentSize } from "./arrow-buffers.ts";
import {
  type BatchCells,
  batchCells,
  type DictionariesAt,
  DictionaryHistory,
  layOut,
  type Slot,
} from "./arrow-cells.ts";
import { type ArrowBody, MAX_METADATA, readMessage, sniffArrow } from "./arrow-frames.ts";
import { type DecodedSchema, decodeFooter } from "./arrow-schema.ts";

// Checks that a batch can hold its declared rows, so that a header cannot make a reader walk missing rows.

/**
 * Checks the buffer sizes of every column of a batch against its rows; for compressed buffers the declared size is used
 * if a frame of that length can hold it.
 * @returns the rest of a sentence when a column holds fewer rows, else undefined
 */
async function missingRows(
  source: ByteSource,
  body: ArrowBody,
  columns: readonly Column[],
): Promise<string | undefined> {
  // Every row takes at least a bit, even compressed, because it has a picture or a reference to one.
  if (body.buffers.length > 0 && body.rows > 8 * body.bytes) {
    return `declares ${body.rows} rows in a body of ${body.bytes} bytes`;
  }
  for (const slot of layOut(body, columns)) {
    if (body.nodes[slot.node]?.length !== body.rows || !(await holds(source, body, slot, body.rows))) {
      return `declares ${body.rows} rows, but its column ${slot.name} holds fewer`;
    }
  }
  return undefined;
}

/** Whether a column or a part of it has values for this many rows. */
async function holds(source: ByteSource, body: ArrowBody, slot: Slot, rows: number): Promise<boolean> {
  if (rows === 0) return true;
  if ((body.nodes[slot.node]?.length ?? 0) < rows) return false;
  const { type } = slot;
  if (type.kind === "struct" || type.kind === "fixed-list") {
    const each = type.kind === "struct" ? 1 : type.size;
    for (const child of slot.children) if (!(await holds(source, body, child, rows * each))) return false;
    return true;
  }
  const needed = firstBytes(slot, rows);
  if (needed === undefined) return true;
  return (await contentSize(source, body, needed.buffer)) >= needed.bytes;
}

/** The buffer with an entry per row, and its required length; undefined if the type has none. */
function firstBytes({ type, buffer }: Slot, rows: number): { buffer: number; bytes: number } | undefined {
  const after = buffer + 1;
  switch (type.kind) {
    case "null":
    case "run-end":
      return undefined;
    case "bool":
      return { buffer: after, bytes: Math.ceil(rows / 8) };
    case "union":
      return { buffer, bytes: rows };
    case "text":
    case "binary":
      if (type.layout === "view") return { buffer: after, bytes: 16 * rows };
      return { buffer: after, bytes: (rows + 1) * (type.layout === "large" ? 8 : 4) };
    case "list":
      if (type.layout === "view" || type.layout === "large-view") {
        return { buffer: after, bytes: rows * (type.layout === "view" ? 4 : 8) };
      }
      return { buffer: after, bytes: (rows + 1) * (type.layout === "large" ? 8 : 4) };
    case "map":
      return { buffer: after, bytes: (rows + 1) * 4 };
    case "dictionary":
      return { buffer: after, bytes: (rows * type.index.bits) / 8 };
    default:
      return { buffer: after, bytes: rows * (fixedWidth(type) ?? 0) };
  }
}

interface ArrowBatch extends ArrowBody {
  /** First row of the batch in the file. */
  readonly firstRow: number;
  /** Dictionaries by id, valid for this batch. */
  readonly dictionaries: DictionariesAt;
}

/** Index of an Arrow file from its message headers. */
interface ArrowIndex extends Pick<Table, "columns" | "rows" | "problem"> {
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
async function indexArrow(source: ByteSource, signal?: AbortSignal): Promise<ArrowIndex> {
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
    const kept = `${batch} with ${rows} ${rows === 1 ? "row" : "rows"} before it kept`;
    problem = `${source.name}: ${problem}; ${rows === 0 ? "the file has no complete row" : kept}`;
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

/** Number of batches whose small buffers are cached. */
const OPEN_BATCHES = 3;

/** If other batches hold more unpacked bytes than this, they are released before another batch is opened. */
const MAX_KEPT = 2 ** 28;

/** A table over an Arrow file of any size. */
export interface ArrowTable extends Table {
  readonly index: ArrowIndex;
}

/**
 * Opens an Arrow IPC stream or file without loading it.
 * @throws LabError like indexArrow
 */
export async function openArrow(source: ByteSource, signal?: AbortSignal): Promise<ArrowTable> {
  const index = await indexArrow(source, signal);
  const open = new Lru<number, BatchCells>(OPEN_BATCHES);
  const cells = (number: number): BatchCells => {
    const batch = index.batches[number];
    if (batch === undefined) throw new LabError("internal", `${source.name} has no batch ${number}`);
    return open.get(number, () => {
      const kept = [...open.values()].reduce((sum, cells) => sum + cells.unpacked(), 0);
      if (kept > MAX_KEPT) open.clear();
      return batchCells(source, batch, index.columns, batch.dictionaries);
    });
  };
  const { columns, rows, metadata, problem } = index;
  return {
    index,
    columns,
    rows,
    metadata,
    batches: index.batches.length,
    problem,
    cell: (column, row, pass) => {
      const number = groupOf(index.batches, rows, row);
      const batch = index.batches[number];
      if (batch === undefined) {
        return Promise.reject(badInput(`${source.name} has no row ${row}, only ${rows} rows`));
      }
      return cells(number).cell(column, row - batch.firstRow, valueMeter(pass));
    },
  };
}

/**
 * Index of the batch or row group that holds a row, by bisection; -1 if none does.
 * @param groups in order, each with its first row
 */
export function groupOf(groups: readonly { readonly firstRow: number }[], rows: number, row: number): number {
  if (!Number.isInteger(row) || row < 0 || row >= rows) return -1;
  let [low, high] = [0, groups.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((groups[middle]?.firstRow ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  // Empty batches share their first row with the next batch; only the last of these has rows.
  return low;
}
