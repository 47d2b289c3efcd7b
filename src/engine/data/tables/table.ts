/** A table of any size over a file of any container; values are read one by one. */
import { badInput } from "../../errors.ts";

// Types of a table's columns, independent of the container, and their display names.

/** Integers of 8 to 64 bits. */
export interface IntType {
  readonly kind: "int";
  readonly bits: number;
  readonly signed: boolean;
}

/** Layout of lists, texts and binary values: offsets of 32 or 64 bits, or views. Does not apply to Parquet. */
type Layout = "small" | "large" | "view" | "large-view";

/** The type of a column or of a part of a column. */
export type ColumnType =
  | { readonly kind: "null" | "bool" }
  | IntType
  | { readonly kind: "float"; readonly bits: number }
  | { readonly kind: "text" | "binary"; readonly layout: Exclude<Layout, "large-view"> }
  | { readonly kind: "fixed-binary"; readonly width: number }
  | { readonly kind: "list"; readonly item: Column; readonly layout: Layout }
  | { readonly kind: "fixed-list"; readonly item: Column; readonly size: number }
  | { readonly kind: "map"; readonly item: Column }
  | { readonly kind: "struct"; readonly fields: readonly Column[] }
  | { readonly kind: "dictionary"; readonly id: number; readonly index: IntType; readonly values: ColumnType }
  | { readonly kind: "run-end"; readonly ends: Column; readonly values: Column }
  | { readonly kind: "union"; readonly dense: boolean; readonly fields: readonly Column[] }
  /** Dates, times, decimals: of fixed width, read as integers if they fit into 64 bits. */
  | { readonly kind: "other"; readonly name: string; readonly width: number };

/** A column, or a named part of one. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** The extension type of Arrow, which says what the values mean. */
  readonly extension?: { readonly name: string; readonly metadata: string };
}

const PREFIX: Readonly<Record<Layout, string>> = { small: "", large: "large_", view: "", "large-view": "large_" };
const SUFFIX: Readonly<Record<Layout, string>> = { small: "", large: "", view: "_view", "large-view": "_view" };

/** The type in Arrow's notation: `struct<bytes: binary, path: utf8>`, `list<int64>`. */
export function typeName(type: ColumnType): string {
  switch (type.kind) {
    case "int":
      return `${type.signed ? "" : "u"}int${type.bits}`;
    case "float":
      return `float${type.bits}`;
    case "text":
      return `${PREFIX[type.layout]}utf8${SUFFIX[type.layout]}`;
    case "binary":
      return `${PREFIX[type.layout]}binary${SUFFIX[type.layout]}`;
    case "fixed-binary":
      return `fixed_size_binary[${type.width}]`;
    case "list":
      return `${PREFIX[type.layout]}list${SUFFIX[type.layout]}<${typeName(type.item.type)}>`;
    case "fixed-list":
      return `fixed_size_list<${typeName(type.item.type)}>[${type.size}]`;
    case "map":
      return `map<${typeName(type.item.type)}>`;
    case "struct":
      return `struct<${named(type.fields)}>`;
    case "dictionary":
      return `dictionary<${typeName(type.values)}>`;
    case "run-end":
      return `run_end_encoded<${typeName(type.values.type)}>`;
    case "union":
      return `union<${named(type.fields)}>`;
    case "other":
      return type.name;
    default:
      return type.kind;
  }
}

/** Columns with their types: `image: struct<bytes: binary, path: utf8>, …`. */
export function named(columns: readonly Column[]): string {
  return columns.map((column) => `${column.name}: ${typeName(column.type)}`).join(", ");
}

/** Bytes per value of a fixed-width type; undefined for other types. */
export function fixedWidth(type: ColumnType): number | undefined {
  if (type.kind === "int" || type.kind === "float") return type.bits / 8;
  return type.kind === "other" || type.kind === "fixed-binary" ? type.width : undefined;
}

/** The type of the values, whether stored directly, in a dictionary or in runs. */
export function valueType(type: ColumnType): ColumnType {
  if (type.kind === "dictionary") return valueType(type.values);
  return type.kind === "run-end" ? valueType(type.values.type) : type;
}

/** The column of a list's items; undefined for other types. */
export function itemOf(type: ColumnType): Column | undefined {
  const plain = valueType(type);
  return plain.kind === "list" || plain.kind === "fixed-list" ? plain.item : undefined;
}

/** The fields of a struct; empty for other types. */
export function fieldsOf(type: ColumnType): readonly Column[] {
  const plain = valueType(type);
  return plain.kind === "struct" ? plain.fields : [];
}

/** Remaining cost of reading, in approximate bytes of the values in memory. */
export interface ReadMeter {
  /** @throws LabError("bad-input") when the cost exceeds the rest */
  take(cost: number): void;
}

/** Maximum cost of one value: a bitmap of 4096 x 4096 pixels as a list of numbers. */
const VALUE = 2 ** 27;
/** Maximum cost of a pass over a file, plus the same per byte of it; the values of a regular file cost less. */
const PASS = 2 ** 28;
const PASS_PER_BYTE = 64;

/** Limit for one value, which also counts against its pass. */
export function valueMeter(pass?: ReadMeter): ReadMeter {
  return meter(VALUE, "a value is larger than 128 MiB", pass);
}

/**
 * Limit for one pass over a file of this size: values may share bytes, and a malicious file could keep a reader busy for
 * days.
 */
export function passMeter(bytes: number): ReadMeter {
  return meter(PASS + PASS_PER_BYTE * bytes, "the earlier rows have reached the memory limit for a file of this size");
}

/** Memory cost of a list item: a number, a big integer, anything else. */
const NUMBER = 8;
const BIG_INTEGER = 32;
const ITEM = 128;

/** Cost of a list item, without its content. @param type undefined for a list or struct */
export function itemCost(type?: ColumnType): number {
  if (type === undefined) return ITEM;
  if (type.kind === "bool" || type.kind === "null") return NUMBER;
  const width = fixedWidth(type);
  if (width === undefined || type.kind === "fixed-binary") return ITEM;
  return width > 4 ? BIG_INTEGER : NUMBER;
}

function meter(most: number, problem: string, above?: ReadMeter): ReadMeter {
  let left = most;
  return {
    take: (cost) => {
      left -= cost;
      if (left < 0) throw badInput(problem);
      above?.take(cost);
    },
  };
}

/** A binary value that has not been read: its length is known, its bytes are fetched on demand. */
export interface BinaryCell {
  readonly length: number;
  /** Bytes [start, end) of the value as a copy, all of them by default. Throws LabError on an invalid range. */
  read(start?: number, end?: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A value of a table: 64-bit integers are big integers, binary is lazy, structs and lists are plain. */
export type Cell =
  | null
  | boolean
  | number
  | bigint
  | string
  | BinaryCell
  | readonly Cell[]
  | { readonly [key: string]: Cell };

/** Rows of one file, read value by value. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: number;
  /** Metadata of the schema, such as the features under `huggingface`. */
  readonly metadata?: ReadonlyMap<string, string>;
  /** Record batches, or row groups. */
  readonly batches: number;
  /** Distance in frames from one frame with a mask to the next in its videos, if the format defines it. */
  readonly every?: number;
  /** Whether the format counts polygons in pixels, as COCO does; otherwise they may be fractions of the picture. */
  readonly inPixels?: true;
  /** One sentence if the file is damaged: the problem and the number of rows kept. */
  readonly problem: string | undefined;
  /**
   * Value of a column (by index in `columns`) at a row of the file.
   * @param pass counts the cost of values in one pass over the file
   * @throws LabError when it is damaged, unsupported or too large
   */
  cell(column: number, row: number, pass?: ReadMeter): Promise<Cell>;
}

/** Whether a cell is a lazy binary value. */
export function isBinaryCell(cell: unknown): cell is BinaryCell {
  return typeof cell === "object" && cell !== null && typeof (cell as { read?: unknown }).read === "function";
}

// Fixed-width values from bytes, the same for every container: 64-bit integers are big integers.

/** Reads the value at a byte offset of a view. */
type ReadNumber = (data: DataView, at: number) => number | bigint;

/** Little-endian reader of a fixed-width type; undefined for other types. */
export function numberReader(type: ColumnType): ReadNumber | undefined {
  if (type.kind === "float") return FLOATS[type.bits];
  if (type.kind === "int") return (type.signed ? SIGNED : UNSIGNED)[type.bits];
  return type.kind === "other" ? SIGNED[type.width * 8] : undefined;
}

const SIGNED: Readonly<Record<number, ReadNumber>> = {
  8: (data, at) => data.getInt8(at),
  16: (data, at) => data.getInt16(at, true),
  32: (data, at) => data.getInt32(at, true),
  64: (data, at) => data.getBigInt64(at, true),
};

const UNSIGNED: Readonly<Record<number, ReadNumber>> = {
  8: (data, at) => data.getUint8(at),
  16: (data, at) => data.getUint16(at, true),
  32: (data, at) => data.getUint32(at, true),
  64: (data, at) => data.getBigUint64(at, true),
};

const FLOATS: Readonly<Record<number, ReadNumber>> = {
  16: (data, at) => float16(data.getUint16(at, true)),
  32: (data, at) => data.getFloat32(at, true),
  64: (data, at) => data.getFloat64(at, true),
};

/** Value of a half: 1 sign, 5 exponent and 10 fraction bits. */
function float16(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
