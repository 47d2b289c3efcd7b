/**
 * Masks of several regions in one picture or bitmap: each label (a grey, palette entry or colour except 0) is a region.
 */

import { pictureBytes } from "../image/picture-bytes.ts";
import { decodePng, isPng } from "../image/png-decode.ts";
import type { FindFile } from "../siblings.ts";
import { isBinaryCell } from "../tables/table.ts";
import { bitmapOf } from "./mask-bitmap.ts";
import type { PictureSize } from "./mask-items.ts";
import { labelsOf } from "./mask-picture.ts";
import { type Rle, rleFromRuns } from "./rle.ts";

/** Maximum number of labels; a picture with more is not a label map. */
const MOST_LABELS = 4096;

/**
 * The masks of a label map for a number of texts. Text i belongs to label i + 1 if no label exceeds the number of
 * texts, else to the i-th label in order if there is one label per text. A missing label gives null.
 * @param texts number of texts, at least 2
 * @returns undefined for anything else, such as a mask of one region
 */
export async function splitLabels(
  item: unknown,
  texts: number,
  size: PictureSize & { readonly find: FindFile },
): Promise<(Rle | null)[] | undefined> {
  const map = await valuesOf(item, size);
  if (map === undefined) return undefined;
  const masks = labelRles(map.values, map.height, map.width, MOST_LABELS);
  const labels = [...(masks?.keys() ?? [])].sort((a, b) => a - b);
  const last = labels.at(-1);
  // A picture with label 1 alone is a mask of one region.
  if (masks === undefined || last === undefined || last === 1) return undefined;
  const numbered = last <= texts;
  if (!numbered && labels.length !== texts) return undefined;
  return Array.from({ length: texts }, (_, at) => masks.get(numbered ? at + 1 : (labels[at] as number)) ?? null);
}

/**
 * The mask of each label except 0, in one pass over row-major labels.
 * @returns undefined for more than `most` labels
 */
export function labelRles(
  labels: ArrayLike<number>,
  height: number,
  width: number,
  most: number,
): Map<number, Rle> | undefined {
  const found = new Map<number, { readonly runs: number[]; end: number }>();
  let [label, start] = [0, 0];
  const close = (end: number): void => {
    const own = found.get(label);
    if (own === undefined) return;
    own.runs.push(end - start);
    own.end = end;
  };
  for (let x = 0, place = 0; x < width; x++) {
    for (let at = x; at < labels.length; at += width, place++) {
      const next = labels[at] as number;
      if (next === label) continue;
      close(place);
      [label, start] = [next, place];
      if (next === 0) continue;
      const own = found.get(next) ?? { runs: [], end: 0 };
      own.runs.push(place - own.end);
      if (found.set(next, own).size > most) return undefined;
    }
  }
  const pixels = height * width;
  close(pixels);
  for (const { runs, end } of found.values()) if (end < pixels) runs.push(pixels - end);
  return new Map([...found].map(([one, { runs }]) => [one, rleFromRuns(runs, height, width)]));
}

async function valuesOf(item: unknown, size: PictureSize & { readonly find: FindFile }) {
  if (Array.isArray(item)) {
    const bitmap = bitmapOf(item as unknown[], size);
    const values = bitmap === undefined ? [] : Array.from(bitmap.values, Number);
    return bitmap === undefined || !values.every((value) => Number.isInteger(value) && value >= 0)
      ? undefined
      : { ...bitmap, values };
  }
  const stored = typeof item === "object" && item !== null && ("bytes" in item || "path" in item);
  if (!isBinaryCell(item) && !stored && typeof item !== "string") return undefined;
  if (typeof item === "string" && /^[0-o]+$/.test(item)) return undefined;
  const picture = pictureBytes(item, size.find, "mask");
  const bytes = await picture.read(0, picture.length);
  if (!isPng(bytes)) return undefined;
  const png = decodePng(bytes, "mask's");
  return { values: labelsOf(png), height: png.height, width: png.width };
}
