/** Decodes the schema of an Arrow file with bounds checks; supports every type of the format. */
import { viewOf } from "../../bytes/source.ts";
import type { Column, ColumnType, IntType } from "../tables/table.ts";

/** A vector of a flatbuffer: position and number of its items, inside the buffer. */
interface FlatVector {
  readonly start: number;
  readonly length: number;
}

/**
 * Bounds-checked reader of flatbuffer tables. Common readers trust lengths, so a damaged file can exhaust memory. Every
 * method throws RangeError outside the buffer.
 */
export interface FlatReader {
  readonly view: DataView;
  /** Position of the root table. */
  root(): number;
  /** Position of a field's value in a table; 0 if it is not stored and has its default. */
  field(table: number, index: number): number;
  /** Position of the table, vector or string that a field refers to; 0 when it is not stored. */
  reference(table: number, index: number): number;
  /** Vector of a field with items of a given size; empty when it is not stored. */
  vector(table: number, index: number, itemBytes: number): FlatVector;
  /** 64-bit integer of a field as a number; 0 when it is not stored. */
  long(table: number, index: number): number;
}

export function flatReader(bytes: Uint8Array): FlatReader {
  const view = viewOf(bytes);
  const field = (table: number, index: number): number => {
    const vtable = table - view.getInt32(table, true);
    const at = 4 + 2 * index;
    if (at >= view.getUint16(vtable, true)) return 0;
    const offset = view.getUint16(vtable + at, true);
    return offset === 0 ? 0 : table + offset;
  };
  const reference = (table: number, index: number): number => {
    const at = field(table, index);
    return at === 0 ? 0 : at + view.getUint32(at, true);
  };
  return {
    view,
    field,
    reference,
    root: () => view.getUint32(0, true),
    vector: (table, index, itemBytes) => {
      const at = reference(table, index);
      if (at === 0) return { start: 0, length: 0 };
      const length = view.getUint32(at, true);
      if (at + 4 + length * itemBytes > bytes.length) throw new RangeError("a vector extends beyond its message");
      return { start: at + 4, length };
    },
    long: (table, index) => {
      const at = field(table, index);
      return at === 0 ? 0 : Number(view.getBigInt64(at, true));
    },
  };
}

/** Maximum fields of a schema, children included; data sets have far fewer. */
const MAX_FIELDS = 20_000;
const MAX_DEPTH = 32;
/** Maximum bytes of names and metadata; fields of a damaged schema may share one text. */
const MAX_TEXT = 2 ** 27;

/** Remaining budget while a schema is decoded. */
interface Left {
  fields: number;
  text: number;
}

/** A schema, and whether its values are big-endian. */
export interface DecodedSchema {
  readonly columns: readonly Column[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly bigEndian: boolean;
}

/** Schema of a schema message. @throws when the metadata is damaged or has an unknown type */
export function decodeSchema(metadata: Uint8Array): DecodedSchema {
  const flat = flatReader(metadata);
  return readSchema(flat, flat.reference(flat.root(), 2));
}

/** Schema and positions of all messages, dictionaries first, of a file's footer. @throws when it is damaged */
export function decodeFooter(bytes: Uint8Array): DecodedSchema & { readonly positions: number[] } {
  const flat = flatReader(bytes);
  const root = flat.root();
  // Blocks are structs of 24 bytes: offset, metadata length, body length.
  const positions = [flat.vector(root, 2, 24), flat.vector(root, 3, 24)].flatMap(({ start, length }) =>
    Array.from({ length }, (_, at) => Number(flat.view.getBigInt64(start + 24 * at, true))),
  );
  return { ...readSchema(flat, flat.reference(root, 1)), positions };
}

/** Schema: byte order 0, fields 1, metadata 2. */
function readSchema(flat: FlatReader, schema: number): DecodedSchema {
  if (schema === 0) throw new Error("there is no schema");
  const left: Left = { fields: MAX_FIELDS, text: MAX_TEXT };
  const columns = tables(flat, schema, 1).map((field) => readField(flat, field, left, 0));
  return { columns, metadata: pairs(flat, schema, 2, left), bigEndian: short(flat, schema, 0, 0) === 1 };
}

/** Keys and values of a vector of pairs. */
function pairs(flat: FlatReader, table: number, index: number, left: Left): ReadonlyMap<string, string> {
  return new Map(
    tables(flat, table, index).map((pair) => [readText(flat, pair, 0, left), readText(flat, pair, 1, left)] as const),
  );
}

/** Field: name 0, nullable 1, kind of type 2, type 3, dictionary 4, children 5, metadata 6. */
function readField(flat: FlatReader, field: number, left: Left, depth: number): Column {
  if (left.fields-- <= 0 || depth > MAX_DEPTH) throw new RangeError("the schema has too many fields");
  const children = tables(flat, field, 5).map((child) => readField(flat, child, left, depth + 1));
  const stored = readType(flat, byte(flat, field, 2, 0), flat.reference(field, 3), children);
  const dictionary = flat.reference(field, 4);
  // DictionaryEncoding: id 0, type of the indices 1, int32 by default.
  const indices = dictionary === 0 ? 0 : flat.reference(dictionary, 1);
  const index: IntType = indices === 0 ? { kind: "int", bits: 32, signed: true } : readInt(flat, indices);
  const type: ColumnType =
    dictionary === 0 ? stored : { kind: "dictionary", id: flat.long(dictionary, 0), index, values: stored };
  const said = pairs(flat, field, 6, left);
  const extension = said.get("ARROW:extension:name");
  return {
    name: readText(flat, field, 0, left),
    type,
    nullable: byte(flat, field, 1, 0) !== 0,
    ...(extension === undefined
      ? {}
      : { extension: { name: extension, metadata: said.get("ARROW:extension:metadata") ?? "" } }),
  };
}

/** Type numbers of the format (Schema.fbs). */
function readType(flat: FlatReader, kind: number, table: number, children: readonly Column[]): ColumnType {
  switch (kind) {
    case 1:
      return { kind: "null" };
    case 2:
      return readInt(flat, table);
    case 3:
      return { kind: "float", bits: checkedWidth([16, 32, 64][short(flat, table, 0, 0)]) };
    case 4:
      return { kind: "binary", layout: "small" };
    case 5:
      return { kind: "text", layout: "small" };
    case 6:
      return { kind: "bool" };
    case 7:
      return other(`decimal${int(flat, table, 2, 128)}`, int(flat, table, 2, 128) / 8);
    case 8:
      return short(flat, table, 0, 1) === 0 ? other("date32", 4) : other("date64", 8);
    case 9:
      return other(`time${int(flat, table, 1, 32)}`, int(flat, table, 1, 32) / 8);
    case 10:
      return other("timestamp", 8);
    case 11:
      return other("interval", [4, 8, 16][short(flat, table, 0, 0)]);
    case 12:
      return { kind: "list", item: only(children), layout: "small" };
    case 13:
      return { kind: "struct", fields: children };
    case 14:
      return { kind: "union", dense: short(flat, table, 0, 0) === 1, fields: children };
    case 15:
      return { kind: "fixed-binary", width: checkedWidth(int(flat, table, 0, 0)) };
    case 16:
      return { kind: "fixed-list", item: only(children), size: checkedSize(int(flat, table, 0, 0)) };
    case 17:
      return { kind: "map", item: only(children) };
    case 18:
      return other("duration", 8);
    case 19:
      return { kind: "binary", layout: "large" };
    case 20:
      return { kind: "text", layout: "large" };
    case 21:
      return { kind: "list", item: only(children), layout: "large" };
    case 22: {
      const [ends, values] = children;
      if (children.length !== 2 || ends?.type.kind !== "int" || values === undefined) throw damaged();
      return { kind: "run-end", ends, values };
    }
    case 23:
      return { kind: "binary", layout: "view" };
    case 24:
      return { kind: "text", layout: "view" };
    case 25:
      return { kind: "list", item: only(children), layout: "view" };
    case 26:
      return { kind: "list", item: only(children), layout: "large-view" };
    default:
      throw new Error(`a column has the unknown type ${kind}`);
  }
}

/** Int: bits 0, signed 1. */
function readInt(flat: FlatReader, table: number): IntType {
  const bits = int(flat, table, 0, 0);
  if (![8, 16, 32, 64].includes(bits)) throw damaged();
  return { kind: "int", bits, signed: byte(flat, table, 1, 0) !== 0 };
}

function other(name: string, width: number | undefined): ColumnType {
  return { kind: "other", name, width: checkedWidth(width) };
}

function only(children: readonly Column[]): Column {
  const [child] = children;
  if (children.length !== 1 || child === undefined) throw damaged();
  return child;
}

function checkedWidth(width: number | undefined): number {
  if (width === undefined || !Number.isInteger(width) || width < 1) throw damaged();
  return width;
}

function checkedSize(size: number): number {
  if (size < 0) throw damaged();
  return size;
}

function damaged(): Error {
  return new Error("a type of the schema is damaged");
}

/** Positions of the tables in a vector of references. */
function tables(flat: FlatReader, table: number, index: number): number[] {
  const { start, length } = flat.vector(table, index, 4);
  if (length > MAX_FIELDS) throw new RangeError("the schema has too many fields");
  return Array.from({ length }, (_, at) => start + 4 * at + flat.view.getUint32(start + 4 * at, true));
}

function readText(flat: FlatReader, table: number, index: number, left: Left): string {
  const { start, length } = flat.vector(table, index, 1);
  left.text -= length;
  if (left.text < 0) throw new RangeError("the schema has too much text");
  return new TextDecoder().decode(new Uint8Array(flat.view.buffer, flat.view.byteOffset + start, length));
}

const byte = (flat: FlatReader, table: number, index: number, missing: number): number =>
  scalar(flat, table, index, missing, (at) => flat.view.getUint8(at));
const short = (flat: FlatReader, table: number, index: number, missing: number): number =>
  scalar(flat, table, index, missing, (at) => flat.view.getInt16(at, true));
const int = (flat: FlatReader, table: number, index: number, missing: number): number =>
  scalar(flat, table, index, missing, (at) => flat.view.getInt32(at, true));

/** A field's number, or its default if the field or the table is missing. */
function scalar(flat: FlatReader, table: number, index: number, missing: number, read: (at: number) => number): number {
  const at = table === 0 ? 0 : flat.field(table, index);
  return at === 0 ? missing : read(at);
}
