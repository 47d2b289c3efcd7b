/** Splits the mask column of a row into one item per mask. */
import { parseJson } from "../../bytes/json.ts";
import { isBase64Picture } from "../image/picture-bytes.ts";

/** Height and width of the row's picture. */
export interface PictureSize {
  readonly height: number;
  readonly width: number;
}

/**
 * The masks of a row, not decoded: one for a struct, one per item for a list or a struct of lists. Null items stay in
 * place, so that indices of masks are stable. Undefined if the row has no mask.
 * @param size picture size, which distinguishes a list of bitmap rows from a list of flat bitmaps
 */
export function splitMasks(cell: unknown, size: PictureSize): unknown[] | undefined {
  if (cell === null || cell === undefined) return undefined;
  if (typeof cell === "string") return splitText(cell, size);
  if (Array.isArray(cell)) {
    const list = cell as unknown[];
    if (list.length === 0) return undefined;
    return isOneMask(list, size) ? [list] : list;
  }
  if (typeof cell !== "object") return [cell];
  const { counts, size: sizes } = cell as { counts?: unknown; size?: unknown };
  if ("counts" in cell && (counts === null || counts === undefined)) return undefined;
  const together = Array.isArray(counts) && Array.isArray(sizes) && (sizes as unknown[]).some(Array.isArray);
  if (!together) return [cell];
  return (counts as unknown[]).map((item, at) => ({ counts: item, size: (sizes as unknown[])[at] }));
}

/** Text: run lengths or polygons as JSON; other text stays one item, and reading it gives the error. */
function splitText(cell: string, size: PictureSize): unknown[] | undefined {
  const text = cell.trim();
  if (text === "" || text === "null") return undefined;
  if (isBase64Picture(text) || !/^[[{]/.test(text)) return [text];
  try {
    return splitMasks(parseJson(text, "the mask"), size);
  } catch {
    return [text];
  }
}

/**
 * Whether a list is one mask: numbers; rows of a bitmap or polygons of one object (lists of numbers); a bitmap whose
 * pixels are lists of one number. Flat bitmaps, deeper lists and other items are one mask each.
 */
function isOneMask(list: readonly unknown[], { height, width }: PictureSize): boolean {
  if (list.every(isNumber)) return true;
  if (list.every(isNumbers)) return list.some((row) => row.length !== height * width);
  return list.every((row) => Array.isArray(row) && row.length > 0 && row.every(isPixel));
}

/** A number of a list, or true or false; null for a missing one. */
export function isNumber(value: unknown): value is number | bigint | boolean | null {
  return value === null || typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}

/** A list of numbers, which may be empty. */
export function isNumbers(value: unknown): value is (number | bigint | boolean | null)[] {
  return Array.isArray(value) && value.every(isNumber);
}

/** A pixel as a list of one number, as in pictures with one channel. */
export function isPixel(value: unknown): value is [number | bigint | boolean | null] {
  return isNumbers(value) && value.length === 1;
}
