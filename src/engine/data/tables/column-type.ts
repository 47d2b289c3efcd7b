/** Types of a table's columns, independent of the container, and their display names. */

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
