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

/** Children a nested type must have; others may have any number. */
const ONE_CHILD: readonly number[] = [Type.List, Type.LargeList, Type.FixedSizeList, Type.Map];
const MAX_DEPTH = 32;

/**
 * Checks a decoded type as far as reading relies on it; a damaged schema can decode into types without their parts.
 * @throws Error when a part is missing or types are nested deeper than 32
 */
export function checkType(type: DataType | undefined | null, depth = 0): void {
  if (type === undefined || type === null || depth > MAX_DEPTH) throw new Error("a type of the schema is damaged");
  if (DataType.isDictionary(type)) {
    checkType((type as Dictionary).dictionary, depth + 1);
    checkType((type as Dictionary).indices, depth + 1);
    return;
  }
  const children = type.children ?? [];
  if (ONE_CHILD.includes(type.typeId) && children.length !== 1)
    throw new Error("a list of the schema has no item type");
  for (const child of children) checkType(child?.type, depth + 1);
  const width = fixedWidth(type);
  const size = DataType.isFixedSizeList(type) ? (type as FixedSizeList).listSize : 1;
  if ((width !== undefined && !(width > 0)) || !(size >= 0)) throw new Error("a width of the schema is damaged");
}
