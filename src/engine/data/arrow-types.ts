import {
  DataType,
  type Dictionary,
  type FixedSizeBinary,
  type FixedSizeList,
  type Float,
  type Int,
  Type,
} from "apache-arrow";

const FLOATS = ["float16", "float32", "float64"];
const NAMES: Readonly<Record<number, string>> = {
  [Type.Null]: "null",
  [Type.Binary]: "binary",
  [Type.LargeBinary]: "large_binary",
  [Type.BinaryView]: "binary_view",
  [Type.Utf8]: "utf8",
  [Type.LargeUtf8]: "large_utf8",
  [Type.Utf8View]: "utf8_view",
  [Type.Bool]: "bool",
};

/** The type in the words of the Arrow documentation: `struct<bytes: binary, path: utf8>`, `list<int64>`. */
export function typeName(type: DataType): string {
  const known = NAMES[type.typeId];
  if (known !== undefined) return known;
  const children = (type.children ?? []).map((child) => typeName(child.type));
  if (DataType.isInt(type)) return `${(type as Int).isSigned ? "" : "u"}int${(type as Int).bitWidth}`;
  if (DataType.isFloat(type)) return FLOATS[(type as Float).precision] ?? "float";
  if (DataType.isDictionary(type)) return `dictionary<${typeName((type as Dictionary).dictionary)}>`;
  if (DataType.isList(type)) return `list<${children[0]}>`;
  if (DataType.isLargeList(type)) return `large_list<${children[0]}>`;
  if (DataType.isFixedSizeList(type)) return `fixed_size_list<${children[0]}>[${(type as FixedSizeList).listSize}]`;
  if (DataType.isFixedSizeBinary(type)) return `fixed_size_binary[${(type as FixedSizeBinary).byteWidth}]`;
  if (DataType.isStruct(type)) {
    return `struct<${(type.children ?? []).map((child) => `${child.name}: ${typeName(child.type)}`).join(", ")}>`;
  }
  return String(type).toLowerCase();
}

/** Bytes per value of a type stored as one fixed-width buffer; undefined for every other type. */
export function fixedWidth(type: DataType): number | undefined {
  switch (type.typeId) {
    case Type.Int:
      return (type as Int).bitWidth / 8;
    case Type.Float:
      return 2 << (type as Float).precision;
    case Type.FixedSizeBinary:
      return (type as FixedSizeBinary).byteWidth;
    case Type.Date:
      return (type as unknown as { unit: number }).unit === 0 ? 4 : 8;
    case Type.Time:
    case Type.Decimal:
      return (type as unknown as { bitWidth: number }).bitWidth / 8;
    case Type.Timestamp:
    case Type.Duration:
      return 8;
    case Type.Interval:
      return [4, 8, 16][(type as unknown as { unit: number }).unit] ?? 8;
    default:
      return undefined;
  }
}
