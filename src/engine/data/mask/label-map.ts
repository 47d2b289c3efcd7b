/** Masks of several regions in one picture or bitmap: each label, a grey, palette entry or colour but 0, is a region. */

import { pictureBytes } from "../image/picture-bytes.ts";
import { decodePng, isPng } from "../image/png-decode.ts";
import type { FindFile } from "../siblings.ts";
import { isBinaryCell } from "../table.ts";
import { bitmapOf } from "./mask-bitmap.ts";
import type { PictureSize } from "./mask-items.ts";
import { labelsOf } from "./mask-picture.ts";
import { encodeRle, type Rle } from "./rle.ts";

/** Labels looked for; a picture of more is no map. */
const MOST_LABELS = 4096;

/**
 * The masks of a label map for so many texts: text i belongs to label i + 1 where no label is larger than the number of texts,
 * else to the i-th label in order where there are as many labels as texts. A label that is missing gives null.
 * @param texts at least 2
 * @returns undefined for anything else, as a mask of one region
 */
export async function splitLabels(
  item: unknown,
  texts: number,
  size: PictureSize & { readonly find: FindFile },
): Promise<(Rle | null)[] | undefined> {
  const map = await valuesOf(item, size);
  if (map === undefined) return undefined;
  const values = Array.from(map.values);
  const found = new Set<number>();
  for (const label of values) if (label > 0 && found.add(label).size > MOST_LABELS) return undefined;
  const labels = [...found].sort((a, b) => a - b);
  if (labels.length < 2) return undefined;
  const numbered = (labels.at(-1) as number) <= texts;
  if (!numbered && labels.length !== texts) return undefined;
  return Array.from({ length: texts }, (_, at) => {
    const label = numbered ? at + 1 : (labels[at] as number);
    if (!found.has(label)) return null;
    return encodeRle(
      Uint8Array.from(values, (value) => Number(value === label)),
      map.height,
      map.width,
    );
  });
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
