import { type ColumnMetaData, type FileMetaData, parquetMetadata } from "hyparquet";
import { type ByteSource, viewOf } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { decodeSchema } from "../arrow/arrow-schema.ts";
import { type Column, fieldsOf, itemOf } from "../tables/table.ts";
import { type ParquetSchema, readNodes } from "./nodes.ts";

// Checks the bounds of Thrift's compact protocol, before a reader that trusts its lengths reads the bytes.

const MAX_DEPTH = 24;
const [STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT] = [0, 1, 2, 3, 7, 8, 9, 10, 12];

/**
 * Walks a struct: every length must be inside the bytes, numbers have at most ten bytes, and lists no more items than
 * bytes remain.
 * @param start offset of the struct
 * @returns the offset after its end
 * @throws RangeError when it does not end inside the bytes or is nested deeper than 24 levels
 */
export function checkStruct(bytes: Uint8Array, start: number): number {
  let at = start;
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError("a struct extends beyond its bytes");
    return bytes[at++] as number;
  };
  const number = (): number => {
    let value = 0;
    for (let length = 0; length < 10; length++) {
      const byte = next();
      value += (byte & 127) * 2 ** (7 * length);
      if (byte < 128) return value;
    }
    throw new RangeError("a number has more than ten bytes");
  };
  const skip = (count: number): void => {
    if (count > bytes.length - at) throw new RangeError("a value extends beyond its bytes");
    at += count;
  };
  const value = (type: number, depth: number): void => {
    if (depth > MAX_DEPTH) throw new RangeError("structs are nested too deep");
    if (type === TRUE || type === FALSE) return;
    if (type === BYTE) skip(1);
    else if (type < DOUBLE) number();
    else if (type === DOUBLE) skip(8);
    else if (type === BINARY) skip(number());
    else if (type === LIST || type === SET) {
      const head = next();
      const items = head >> 4 === 15 ? number() : head >> 4;
      if (items > bytes.length - at) throw new RangeError("a list has more items than bytes");
      const kind = head & 15;
      for (let n = 0; n < items; n++) value(kind === TRUE || kind === FALSE ? BYTE : kind, depth + 1);
    } else if (type === STRUCT) struct(depth + 1);
    else throw new RangeError(`a value has the unknown type ${type}`);
  };
  const struct = (depth: number): void => {
    for (let head = next(); (head & 15) !== STOP; head = next()) {
      if (head >> 4 === 0) number();
      value(head & 15, depth);
    }
  };
  struct(0);
  return at;
}

/** Maximum bytes of a footer. */
const MAX_FOOTER = 2 ** 26;

/** Position of a column's pages in one row group. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly codec: ColumnMetaData["codec"];
}

/** A row group: its first row, and one chunk per leaf if there are rows. */
interface RowGroup {
  readonly firstRow: number;
  readonly chunks: readonly Chunk[];
}

/** Content of a Parquet file's footer. */
interface Footer extends ParquetSchema {
  readonly groups: readonly RowGroup[];
  readonly rows: number;
  readonly metadata: ReadonlyMap<string, string>;
  /** A sentence when the schema of Arrow in the metadata is damaged. */
  readonly problem: string | undefined;
}

/**
 * Reads the footer of a Parquet file, but no page.
 * @throws LabError("bad-input") when it is truncated or damaged, "unsupported" when it is encrypted
 */
export async function readFooter(source: ByteSource): Promise<Footer> {
  if (source.size < 12) throw bad(source, `has only ${source.size} bytes, too few for a Parquet file`);
  const end = await source.read(source.size - 8, source.size);
  const magic = String.fromCharCode(...end.subarray(4));
  if (magic === "PARE") throw new LabError("unsupported", `${source.name} is an encrypted Parquet file`);
  if (magic !== "PAR1") throw bad(source, "is a truncated Parquet file: its end, which holds the schema, is missing");
  const length = viewOf(end).getUint32(0, true);
  if (length > MAX_FOOTER || length > source.size - 12)
    throw bad(source, `is damaged: it states a footer of ${length} bytes, more than can be there`);
  const bytes = await source.read(source.size - 8 - length, source.size);
  try {
    if (checkStruct(bytes.subarray(0, length), 0) !== length) throw new RangeError("bytes follow its content");
    return interpret(parquetMetadata(bytes, { geoparquet: false }), source);
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    throw bad(source, `has a damaged footer (${thrownText(thrown)})`);
  }
}

function interpret(found: FileMetaData, source: ByteSource): Footer {
  const schema = readNodes(found.schema);
  let firstRow = 0;
  const groups = found.row_groups.map((group): RowGroup => {
    const rows = Number(group.num_rows);
    if (group.columns.length !== schema.leaves.length)
      throw new RangeError("a row group has columns that differ from the schema");
    // A group without rows may have no pages.
    const columns = rows === 0 ? [] : group.columns;
    const chunks = columns.map(({ meta_data: chunk, file_path: other }): Chunk => {
      if (chunk === undefined) throw new LabError("unsupported", `${source.name} has encrypted columns`);
      if (other !== undefined) throw new LabError("unsupported", `${source.name} keeps its columns in other files`);
      // Some writers state a dictionary page at 0 if there is none.
      const pages = [chunk.dictionary_page_offset, chunk.data_page_offset].map((at) => Number(at ?? 0));
      const start = Math.min(...pages.filter((at) => at > 0));
      const end = start + Number(chunk.total_compressed_size);
      if (!(Number.isSafeInteger(end) && start >= 4 && end >= start && end <= source.size)) {
        throw new RangeError(`a column would be at bytes ${start} to ${end} of ${source.size}`);
      }
      return { start, end, codec: chunk.codec };
    });
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.end - chunk.start, 0);
    if (!(Number.isSafeInteger(rows) && rows >= 0 && rows <= 8 * bytes)) {
      throw new RangeError(`a row group states ${rows} rows in ${bytes} bytes`);
    }
    const here = firstRow;
    firstRow += rows;
    return { firstRow: here, chunks };
  });
  const metadata = new Map((found.key_value_metadata ?? []).map(({ key, value = "" }) => [key, value]));
  return { ...schema, ...withArrow(schema.columns, metadata, source), groups, rows: firstRow, metadata };
}

/** The columns with the extension types of the Arrow schema that Arrow's writers add. */
function withArrow(
  columns: readonly Column[],
  metadata: ReadonlyMap<string, string>,
  source: ByteSource,
): Pick<Footer, "columns" | "problem"> {
  const text = metadata.get("ARROW:schema");
  if (text === undefined) return { columns, problem: undefined };
  try {
    const message = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    // The message follows its marker and length, or the length alone before Arrow 0.15.
    const start = viewOf(message).getInt32(0, true) === -1 ? 8 : 4;
    const named = new Map(decodeSchema(message.subarray(start)).columns.map((column) => [column.name, column]));
    return { columns: columns.map((column) => merged(column, named.get(column.name))), problem: undefined };
  } catch (thrown) {
    const what = `${source.name} has a damaged schema of Arrow (${thrownText(thrown)})`;
    return { columns, problem: `${what}; all rows are kept, read by the schema of Parquet alone` };
  }
}

/** A column of Parquet with the extension types of the same column of Arrow, as deep as both have the same form. */
function merged(column: Column, arrow: Column | undefined): Column {
  if (arrow === undefined) return column;
  const { type } = column;
  const extension = arrow.extension === undefined ? {} : { extension: arrow.extension };
  const fields = new Map(fieldsOf(arrow.type).map((field) => [field.name, field]));
  if (type.kind === "struct") {
    return {
      ...column,
      ...extension,
      type: { ...type, fields: type.fields.map((field) => merged(field, fields.get(field.name))) },
    };
  }
  if (type.kind === "list")
    return { ...column, ...extension, type: { ...type, item: merged(type.item, itemOf(arrow.type)) } };
  return { ...column, ...extension };
}

function bad(source: ByteSource, what: string): LabError {
  return badInput(`${source.name} ${what}`, source.name);
}
