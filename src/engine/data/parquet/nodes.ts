/** The schema of a Parquet file as a tree of nodes with their levels (Dremel), and as columns. */
import type { SchemaElement } from "hyparquet";
import type { Column, ColumnType } from "../tables/table.ts";

/** Definition level of a node, and the leaves below it. */
interface Levels {
  /** Minimum definition level at which the node is not null. */
  readonly def: number;
  /** Leaves [from, to) in file order. */
  readonly from: number;
  readonly to: number;
}

/** A column of values; `rep` and `def` are the maximum levels of its entries. */
export interface Leaf extends Levels {
  readonly kind: "leaf";
  readonly rep: number;
  readonly element: SchemaElement;
  readonly type: ColumnType;
}

/** A node of the tree. */
export type Node =
  | Leaf
  | (Levels & { readonly kind: "struct"; readonly names: readonly string[]; readonly fields: readonly Node[] })
  /**
   * The list has items from definition level `itemDef` on; an entry of repetition level `itemRep` starts another item.
   */
  | (Levels & { readonly kind: "list"; readonly itemDef: number; readonly itemRep: number; readonly item: Node });

/** A schema: its top columns and all leaves. */
export interface ParquetSchema {
  readonly columns: readonly Column[];
  readonly nodes: readonly Node[];
  readonly leaves: readonly Leaf[];
}

const MAX_ELEMENTS = 20_000;
const MAX_DEPTH = 32;

/** @throws Error when the elements are not a tree */
export function readNodes(elements: readonly SchemaElement[]): ParquetSchema {
  if (elements.length > MAX_ELEMENTS) throw new Error("the schema has too many columns");
  const leaves: Leaf[] = [];
  let at = 1;
  const element = (): SchemaElement => {
    const found = elements[at++];
    if (found === undefined) throw new Error("the schema ends inside a column");
    return found;
  };
  type Built = { readonly column: Column; readonly node: Node };

  /** A field. If it is repeated outside a LIST, it is a list of required items. */
  const field = (one: SchemaElement, def: number, rep: number, depth: number): Built => {
    if (depth > MAX_DEPTH) throw new Error("the schema is nested too deep");
    if (one.repetition_type !== "REPEATED") {
      return value(one, def + (one.repetition_type === "OPTIONAL" ? 1 : 0), rep, depth);
    }
    return listOf(one.name, false, def, value(one, def + 1, rep + 1, depth), def + 1, rep + 1);
  };

  const listOf = (
    name: string,
    nullable: boolean,
    def: number,
    item: Built,
    itemDef: number,
    itemRep: number,
  ): Built => {
    const { from, to } = item.node;
    return {
      column: { name, type: { kind: "list", item: item.column, layout: "small" }, nullable },
      node: { kind: "list", def, from, to, itemDef, itemRep, item: item.node },
    };
  };

  /** The value of a field whose own levels are already counted. */
  const value = (one: SchemaElement, def: number, rep: number, depth: number): Built => {
    const { name } = one;
    const nullable = one.repetition_type === "OPTIONAL";
    const count = one.num_children ?? 0;
    if (count === 0) {
      const type = leafType(one);
      const leaf: Leaf = { kind: "leaf", def, rep, from: leaves.length, to: leaves.length + 1, element: one, type };
      leaves.push(leaf);
      return { column: { name, type, nullable }, node: leaf };
    }
    const kind = one.logical_type?.type ?? one.converted_type;
    const isList = kind === "LIST" || kind === "MAP" || kind === "MAP_KEY_VALUE";
    if (isList && count === 1 && elements[at]?.repetition_type === "REPEATED") {
      const repeated = element();
      const children = repeated.num_children ?? 0;
      // Three levels: the repeated group holds the item. Two: it is the item itself, as in files of old writers.
      const old = children !== 1 || repeated.name === "array" || repeated.name === `${name}_tuple`;
      const item = old ? value(repeated, def + 1, rep + 1, depth + 1) : field(element(), def + 1, rep + 1, depth + 1);
      return listOf(name, nullable, def, item, def + 1, rep + 1);
    }
    const from = leaves.length;
    const fields = Array.from({ length: count }, () => field(element(), def, rep, depth + 1));
    return {
      column: { name, type: { kind: "struct", fields: fields.map(({ column }) => column) }, nullable },
      node: {
        kind: "struct",
        def,
        from,
        to: leaves.length,
        names: fields.map(({ column }) => column.name),
        fields: fields.map(({ node }) => node),
      },
    };
  };

  const [root] = elements;
  if (root === undefined) throw new Error("there is no schema");
  const built: Built[] = [];
  while (at < elements.length) built.push(field(element(), 0, 0, 0));
  if (built.length !== (root.num_children ?? 0)) throw new Error("the schema is not a tree");
  return { columns: built.map(({ column }) => column), nodes: built.map(({ node }) => node), leaves };
}

const INTS: Readonly<Record<string, readonly [bits: number, signed: boolean]>> = {
  INT_8: [8, true],
  INT_16: [16, true],
  INT_32: [32, true],
  INT_64: [64, true],
  UINT_8: [8, false],
  UINT_16: [16, false],
  UINT_32: [32, false],
  UINT_64: [64, false],
};

function leafType(element: SchemaElement): ColumnType {
  const { type, type_length: length, converted_type: converted, logical_type: logical } = element;
  const width = type === "INT32" ? 32 : 64;
  switch (type) {
    case "BOOLEAN":
      return { kind: "bool" };
    case "INT32":
    case "INT64": {
      if (logical?.type === "NULL") return { kind: "null" };
      const [bits, signed] =
        logical?.type === "INTEGER" ? [logical.bitWidth, logical.isSigned] : (INTS[converted ?? ""] ?? [width, true]);
      const plain = converted === undefined || converted in INTS;
      if (plain && (logical === undefined || logical.type === "INTEGER")) return { kind: "int", bits, signed };
      return { kind: "other", name: (logical?.type ?? converted ?? "").toLowerCase(), width: width / 8 };
    }
    case "FLOAT":
      return { kind: "float", bits: 32 };
    case "DOUBLE":
      return { kind: "float", bits: 64 };
    case "INT96":
      return { kind: "fixed-binary", width: 12 };
    case "FIXED_LEN_BYTE_ARRAY": {
      if (length === undefined || length < 1) throw new Error("a width of the schema is damaged");
      return logical?.type === "FLOAT16" ? { kind: "float", bits: 16 } : { kind: "fixed-binary", width: length };
    }
    case "BYTE_ARRAY": {
      const isText =
        ["STRING", "ENUM", "JSON"].includes(logical?.type ?? "") || ["UTF8", "ENUM", "JSON"].includes(converted ?? "");
      return { kind: isText ? "text" : "binary", layout: "small" };
    }
    default:
      throw new Error("a column of the schema has no type");
  }
}
