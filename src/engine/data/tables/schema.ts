/** Assigns columns of a table to roles, by name and physical type. */
import { shortened } from "../../errors.ts";
import { type Column, type ColumnType, fieldsOf, itemOf, named, valueType } from "./table.ts";

/** The column of a role, or a part inside one. */
export interface Role {
  readonly column: number;
  /** Names of struct fields from the column to the part; lists on the way are read item by item. */
  readonly path: readonly string[];
  /** Whether there is a list on the path, so that the part has one value per item. */
  readonly each: boolean;
  /** Name for display, such as `objects.mask`. */
  readonly name: string;
}

/** How the rows of a table are read. */
export interface Adapter {
  /** Kind of row, for display: "conversations, one mask per row". It does not depend on the origin of the data. */
  readonly name: string;
  readonly image: Role;
  readonly mask: Role;
  readonly text: Role;
  readonly category: Role | undefined;
  /** Whether the pictures of a row are the frames of a clip, and its masks one masklet. */
  readonly clip: boolean;
  /** For a column of videos: distance between two frames that are read. */
  readonly every?: number;
}

const IMAGE_NAMES = "image jpg jpeg png webp img picture images pictures image_bytes image_path img_path pixel_values";
/** Names of paths in the image folders of `datasets`; tables with pictures may have them, too. */
const PICTURE_FILE_NAMES = "file_name image_file_name image_file_names";
/** Names of a list of pictures that are the frames of a clip. */
const FRAME_NAMES = "frames video_frames clip video";
/** Names of a column with one video per row, as a path or as bytes. */
const VIDEO_NAMES = "video clip video_path video_file video_bytes";
const MASK_NAMES =
  "mask_rle mask masks rle rles mask_rles segmentation segmentations segment segments masklet mask_png mask_image mask_path mask_file bitmap polygon polygons mask_file_name mask_file_names";
/** Column names that mean a mask if the column holds pictures. */
const MASK_PICTURE_NAMES = "annotation annotations label";
/** Other names that end like a mask's name: `gt_mask`, `object_masks`. */
const LIKE_MASK = /(^|_)(masks?|rles?|segmentations?)$/;
const TEXT_NAMES =
  "conversations conversation messages caption captions description descriptions text texts sentence sentences expression expressions answer";
const CATEGORY_NAMES = "catagory category categories label labels class class_name";

/** The consequence of each missing role. */
const LOST = {
  image: "neither loop has anything to look at",
  mask: "loop 1 has no region, loop 2 no mask to score",
  text: "loop 2 has no phrase",
} as const;

/** Columns or parts named by the user, such as `objects.mask`, which replace the detected ones. */
export interface WantedColumns {
  readonly image?: string | undefined;
  readonly mask?: string | undefined;
  readonly text?: string | undefined;
}

/** Maximum depth of the search for parts in structs. */
const MAX_DEPTH = 4;

/**
 * The adapter of a schema, or a sentence with the missing role and the existing columns. Metadata and folder names are
 * not used: both can be missing or wrong.
 * @param without names of columns and parts that have no role
 */
export function chooseAdapter(
  columns: readonly Column[],
  wanted: WantedColumns = {},
  without: readonly string[] = [],
): Adapter | string {
  const parts = partsOf(columns).filter(({ role }) => !without.includes(role.name));
  const unknown = [wanted.image, wanted.mask, wanted.text].find(
    (name) => name !== undefined && !parts.some(({ role }) => role.name === name),
  );
  if (unknown !== undefined) return `no column ${unknown}; columns found: ${shortened(schemaText(columns), 120)}`;
  const { image, mask, text, others } = findRoles(parts, wanted);
  const missing = [
    image === undefined ? "a picture (image, jpg)" : undefined,
    mask === undefined ? "a mask (mask_rle, mask, segmentation)" : undefined,
    text === undefined ? "a text (caption, conversations, messages)" : undefined,
  ].filter((part) => part !== undefined);
  if (image === undefined || mask === undefined || text === undefined) {
    const lost = image === undefined ? LOST.image : mask === undefined ? LOST.mask : LOST.text;
    return `no column for ${missing.join(" and none for ")}: ${lost}; columns found: ${shortened(schemaText(columns), 90)}`;
  }
  const taken = [image, mask, text].map(({ role }) => role);
  const free = others.filter(({ role }) => !taken.some((other) => inside(role, other)));
  const category = find(free, CATEGORY_NAMES, (type) => valueType(itemType(type)).kind === "text");
  const several = isSeveral(mask);
  const frames = several && FRAME_NAMES.split(" ").includes(image.name) && isFrames(image.type);
  const video = several && VIDEO_NAMES.split(" ").includes(image.name) && isPicture(image.type);
  const kind = isTurns(text.type) ? "conversations" : "captions";
  const name = `${kind}, ${video ? "one masklet of a video" : frames ? "one masklet" : several ? "several masks" : "one mask"} per row`;
  const roles = { image: image.role, mask: mask.role, text: text.role, category: category?.role };
  return { name, ...roles, clip: frames || video, ...(video ? { every: 1 } : {}) };
}

/** The roles that a schema has: `a picture (image)`. */
export function rolesFound(columns: readonly Column[]): string[] {
  const { image, mask, text } = findRoles(partsOf(columns), {});
  const roles = [["picture", image] as const, ["mask", mask] as const, ["text", text] as const];
  return roles.flatMap(([what, part]) => (part === undefined ? [] : [`a ${what} (${part.role.name})`]));
}

/** The part of each role, if any; `others` are those outside the mask. */
function findRoles(parts: readonly Part[], wanted: WantedColumns) {
  const named = (name: string | undefined): Part | undefined => parts.find(({ role }) => role.name === name);
  const mask =
    named(wanted.mask) ??
    find(parts, MASK_NAMES, isMask) ??
    parts.find(({ name, type }) => LIKE_MASK.test(name) && isMask(type)) ??
    find(parts, MASK_PICTURE_NAMES, (type) => isPictureStruct(itemType(type))) ??
    parts.find(({ type }) => isRle(type));
  const others = parts.filter(({ role }) => mask === undefined || !inside(role, mask.role));
  const image =
    named(wanted.image) ??
    find(others, FRAME_NAMES, isFrames) ??
    find(others, IMAGE_NAMES, isPictures) ??
    (mask !== undefined && isSeveral(mask) ? find(others, VIDEO_NAMES, isPicture) : undefined) ??
    others.find(({ type }) => fieldNames(itemType(type)).includes("bytes")) ??
    find(others, PICTURE_FILE_NAMES, isPictures);
  // A text in the same struct as the mask describes it; a text at the top may not.
  const beside = others.filter(({ role }) => mask !== undefined && isBeside(role, mask.role));
  const text =
    named(wanted.text) ??
    find(beside, TEXT_NAMES, isTexts) ??
    find(others, TEXT_NAMES, isTexts) ??
    others.find(({ type }) => isTurns(type));
  return { image, mask, text, others };
}

/** Whether a column has several masks per row. */
function isSeveral({ role, type }: Part): boolean {
  return role.each || isRleList(type) || isPictureStruct(itemOf(type)?.type);
}

/** Columns and their parts by the names that `chooseAdapter` takes. */
export function partNames(columns: readonly Column[]): string[] {
  return partsOf(columns).map(({ role }) => role.name);
}

/** The columns as text, for messages: `image: struct<bytes: binary, path: utf8>, …`. */
export function schemaText(columns: readonly Column[]): string {
  return columns.length === 0 ? "none" : named(columns);
}

/** Whether a type is turns of a conversation: a list of structs of speaker and text, or a struct of two such lists. */
export function isTurns(type: ColumnType): boolean {
  const names = fieldNames(itemType(type));
  const pairs = [
    ["from", "value"],
    ["role", "content"],
    ["role", "text"],
    ["user", "assistant"],
  ];
  return pairs.some((pair) => pair.every((name) => names.includes(name)));
}

/** Whether a type is a mask as run lengths, or a list of them. */
export function isRle(type: ColumnType | undefined): boolean {
  return type !== undefined && fieldNames(itemType(type)).includes("counts");
}

/** Whether a type is several masks as run lengths: a list of them, or one struct of a list of each field. */
export function isRleList(type: ColumnType): boolean {
  const size = fieldsOf(type).find(({ name }) => name === "size");
  return isRle(itemOf(type)?.type) || (isRle(type) && itemOf(itemOf(size?.type ?? type)?.type ?? type) !== undefined);
}

/** A column or part with its type, without the lists on the way. */
interface Part {
  readonly name: string;
  readonly type: ColumnType;
  readonly role: Role;
}

/** All columns and parts, top levels first. */
function partsOf(columns: readonly Column[]): Part[] {
  const found: Part[] = columns.map(({ name, type }, column) => ({
    name: name.toLowerCase(),
    type,
    role: { column, path: [], each: false, name },
  }));
  // The list grows during the loop: parts of parts follow.
  for (const { type, role } of found) {
    if (role.path.length >= MAX_DEPTH || isTurns(type) || isRle(type) || isPictureStruct(itemType(type))) continue;
    const list = itemOf(type) !== undefined;
    for (const field of fieldsOf(itemType(type))) {
      const deeper = { column: role.column, path: [...role.path, field.name], name: `${role.name}.${field.name}` };
      found.push({ name: field.name.toLowerCase(), type: field.type, role: { ...deeper, each: role.each || list } });
    }
  }
  return found;
}

function inside(role: Role, other: Role): boolean {
  return role.column === other.column && other.path.every((name, at) => role.path[at] === name);
}

/** Whether a part is in the same struct as another one, except the row itself. */
export function isBeside(role: Role, other: Role): boolean {
  const { column, path } = other;
  return (
    path.length > 0 && role.path.length === path.length && inside(role, { ...other, column, path: path.slice(0, -1) })
  );
}

function find(parts: readonly Part[], names: string, fits: (type: ColumnType) => boolean): Part | undefined {
  const depths = [...new Set(parts.map(({ role }) => role.path.length))];
  for (const depth of depths) {
    for (const name of names.split(" ")) {
      const part = parts.find((one) => one.role.path.length === depth && one.name === name && fits(one.type));
      if (part !== undefined) return part;
    }
  }
  return undefined;
}

/** The type of a list's items; other types unchanged. */
function itemType(type: ColumnType): ColumnType {
  return valueType(itemOf(type)?.type ?? type);
}

function fieldNames(type: ColumnType): string[] {
  return fieldsOf(type).map((field) => field.name);
}

/** A text (also as bytes), a list of texts, or turns. */
function isTexts(type: ColumnType): boolean {
  const { kind } = itemType(type);
  return isTurns(type) || kind === "text" || kind === "binary";
}

function isPictureStruct(type: ColumnType | undefined): boolean {
  return type !== undefined && fieldNames(type).some((name) => name === "bytes" || name === "path");
}

/** An encoded picture: struct of bytes and path, bytes, a list of byte values, or text (base64 or a path). */
function isPicture(type: ColumnType): boolean {
  const plain = valueType(type);
  return isPictureStruct(plain) || ["binary", "text"].includes(plain.kind) || valueTypeOfItems(plain)?.kind === "int";
}

/** A picture or a list of pictures. */
function isPictures(type: ColumnType): boolean {
  const item = itemOf(type)?.type;
  return isPicture(type) || (item !== undefined && isPicture(item));
}

/** A list of pictures, not one picture as a list of numbers. */
function isFrames(type: ColumnType): boolean {
  const item = itemOf(type)?.type;
  return item !== undefined && isPicture(item) && !isPicture(type);
}

function valueTypeOfItems(type: ColumnType): ColumnType | undefined {
  const item = itemOf(type);
  return item === undefined ? undefined : valueType(item.type);
}

/** Run lengths, an encoded picture, numbers in lists up to four deep, text, or a null column (each row is then skipped). */
function isMask(type: ColumnType): boolean {
  const plain = valueType(type);
  if (isRle(plain) || plain.kind === "null" || isPictures(plain)) return true;
  let inner: ColumnType | undefined = plain;
  let depth = 0;
  for (let next = valueTypeOfItems(plain); next !== undefined; next = valueTypeOfItems(next)) {
    inner = next;
    depth++;
  }
  return depth >= 1 && depth <= 4 && ["int", "float", "bool"].includes(inner.kind);
}
