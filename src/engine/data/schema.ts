import { DataType, type Dictionary, type Field, Type } from "apache-arrow";
import { typeName } from "./arrow-types.ts";

/** Which columns of a shard play which part, found by column name and physical type. */
export interface Adapter {
  /** Name of the layout for people: "GAR fine-grained", "GAR relation", "conversations", "captions". */
  readonly name: string;
  readonly image: number;
  readonly mask: number;
  readonly text: number;
  readonly category: number | undefined;
}

const IMAGE_NAMES = ["image", "jpg", "jpeg", "png", "webp", "img", "picture", "image_bytes"];
const MASK_NAMES = ["mask_rle", "mask", "masks", "rle", "segmentation", "segmentations", "segment"];
const TEXT_NAMES = ["conversations", "conversation", "caption", "captions", "text", "description", "messages"];
const CATEGORY_NAMES = ["catagory", "category", "categories", "label", "labels"];

/**
 * The adapter of a schema, or a sentence that says which part is missing and which columns there are. Metadata and
 * folder names play no part: both can be missing or wrong.
 */
export function chooseAdapter(fields: readonly Field[]): Adapter | string {
  const image = find(fields, IMAGE_NAMES, isPicture) ?? anywhere(fields, isPictureStruct);
  const mask = find(fields, MASK_NAMES, isMask) ?? anywhere(fields, isMaskStruct);
  const text = find(fields, TEXT_NAMES, (type) => isTurns(type) || isText(type) || isTextList(type));
  const missing = [
    image === undefined ? "a picture (a struct with bytes, or binary, called image or jpg)" : undefined,
    mask === undefined
      ? "a mask (a struct with counts and size, or a list of them, called mask_rle or mask)"
      : undefined,
    text === undefined ? "a text (conversations, caption or text)" : undefined,
  ].filter((part) => part !== undefined);
  if (image === undefined || mask === undefined || text === undefined) {
    return `no column for ${missing.join(" and none for ")}; columns found: ${schemaText(fields)}`;
  }
  const turns = isTurns((fields[text] as Field).type);
  const single = plainType((fields[mask] as Field).type).typeId === Type.Struct;
  const gar = turns && (fields[mask] as Field).name === "mask_rle";
  const name = gar ? (single ? "GAR fine-grained" : "GAR relation") : turns ? "conversations" : "captions";
  const category = find(fields, CATEGORY_NAMES, (type) => isText(type) || isTextList(type));
  return { name, image, mask, text, category };
}

/** The columns in words, for messages: `image: struct<bytes: binary, path: utf8>, …`. */
export function schemaText(fields: readonly Field[]): string {
  if (fields.length === 0) return "none";
  return fields.map((field) => `${field.name}: ${typeName(field.type)}`).join(", ");
}

function find(
  fields: readonly Field[],
  names: readonly string[],
  fits: (type: DataType) => boolean,
): number | undefined {
  for (const name of names) {
    const at = fields.findIndex((field) => field.name.toLowerCase() === name && fits(field.type));
    if (at >= 0) return at;
  }
  return undefined;
}

function anywhere(fields: readonly Field[], fits: (type: DataType) => boolean): number | undefined {
  const at = fields.findIndex((field) => fits(field.type));
  return at < 0 ? undefined : at;
}

/** The type of the values, whether they stand in the column or in a dictionary. */
function plainType(type: DataType): DataType {
  return DataType.isDictionary(type) ? (type as Dictionary).dictionary : type;
}

function childNames(type: DataType): string[] {
  return plainType(type).typeId === Type.Struct ? (type.children ?? []).map((child) => child.name) : [];
}

const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.FixedSizeList];
const TEXTS: readonly number[] = [Type.Utf8, Type.LargeUtf8, Type.Utf8View];
const BINARIES: readonly number[] = [Type.Binary, Type.LargeBinary, Type.BinaryView];

function item(type: DataType): DataType | undefined {
  return LISTS.includes(type.typeId) ? type.children?.[0]?.type : undefined;
}

function isText(type: DataType): boolean {
  return TEXTS.includes(plainType(type).typeId);
}

function isTextList(type: DataType): boolean {
  const inner = item(type);
  return inner !== undefined && isText(inner);
}

function isPictureStruct(type: DataType): boolean {
  return childNames(type).includes("bytes");
}

function isPicture(type: DataType): boolean {
  const names = childNames(type);
  return names.includes("bytes") || names.includes("path") || BINARIES.includes(plainType(type).typeId) || isText(type);
}

function isMaskStruct(type: DataType): boolean {
  const names = childNames(item(type) ?? type);
  return names.includes("counts") && names.includes("size");
}

/** A mask: struct or list of structs, RLE as JSON text, polygons, or a null column (each row is then skipped). */
function isMask(type: DataType): boolean {
  const inner = item(type);
  const polygon = inner === undefined ? undefined : item(inner);
  const isNumber = polygon !== undefined && [Type.Float, Type.Int].includes(polygon.typeId);
  return isMaskStruct(type) || isText(type) || isNumber || type.typeId === Type.Null;
}

function isTurns(type: DataType): boolean {
  const names = childNames(item(type) ?? type);
  return (names.includes("from") && names.includes("value")) || (names.includes("role") && names.includes("content"));
}
