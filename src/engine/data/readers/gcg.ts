/**
 * Grounded captions in three of the forms that Sa2VA trains on: GranD-f and OpenPSG (`groundings`), RefCOCOg (`refs`),
 * Flickr (COCO form with spans). Every grounded phrase is a region with the phrase as its caption
 * (docs/spec/evaluation.md#31-files).
 */
import { isRecord } from "../../bytes/json.ts";
import { badInput } from "../../errors.ts";
import { openCoco } from "./coco-file.ts";
import { maskType, type PictureRow, pictureTable, type Region, RUNS } from "./picture-table.ts";
import { firstOf, has, type Reader } from "./reader.ts";
import { maskOf } from "./segmentation.ts";

/** A phrase of a caption with its mask and its position in the caption. */
export interface Grounded {
  readonly phrase: string;
  /** Position in code points of the caption: [start, end). */
  readonly span: readonly [number, number];
  readonly mask: unknown;
}

/** Code points [start, end) of a text, as Python counts. */
export function codePoints(text: string, [start, end]: readonly [number, number]): string {
  return [...text].slice(start, end).join("");
}

export const grandf: Reader = {
  label: "gcg-grandf",
  what: "grounded captions of GranD-f or OpenPSG",
  recognise: ({ first }) => (has(first, "caption", "groundings") ? "records with caption and groundings" : undefined),
  open: async ({ records }) => {
    const read = async (row: number): Promise<PictureRow> => {
      const item = await records.item(row);
      return { image: textOf(item, "file_name"), regions: regionsOf(groundedOf(item)) };
    };
    return { table: pictureTable(records.length, RUNS, records.problem, read) };
  },
};

export const refcocogGcg: Reader = {
  label: "gcg-refcocog",
  what: "grounded captions of RefCOCOg",
  recognise: ({ first }) =>
    has(inner(first), "img_file_name", "caption", "refs") ? "one-key records with img_file_name and refs" : undefined,
  open: async ({ records, sign }) => {
    const read = async (row: number): Promise<PictureRow> => {
      const item = inner(await records.item(row));
      return { image: textOf(item, "img_file_name"), regions: regionsOf(foundOf(item)) };
    };
    const [example] = foundOf(inner(sign.first));
    return { table: pictureTable(records.length, maskType(example?.mask), records.problem, read) };
  },
};

export const flickr: Reader = {
  label: "gcg-flickr",
  what: "grounded captions of Flickr",
  recognise: (sign) =>
    has(firstOf(sign, "annotations"), "tokens_positive", "sam_mask")
      ? "annotations with tokens_positive and sam_mask"
      : undefined,
  open: async ({ records }) => {
    const coco = await openCoco(records);
    const images = [...coco.images];
    const read = async (row: number): Promise<PictureRow> => {
      const [id, image] = images[row] ?? [];
      if (id === undefined || image === undefined) throw badInput(`${records.name} has no picture ${row}`);
      const regions: Region[] = [];
      for (const place of coco.byImage.get(id) ?? []) {
        const { tokens_positive: spans, sam_mask } = await coco.annotation(place);
        const span = Array.isArray(spans) ? pair(spans[0]) : undefined;
        const caption = span === undefined ? "" : codePoints(image.caption ?? "", span);
        regions.push({ mask: sam_mask ?? null, caption, category: [] });
      }
      return { image: image.fileName, regions };
    };
    return { table: pictureTable(images.length, RUNS, coco.problem, read) };
  },
};

/** The grounded phrases of a GranD-f item, in the order of the caption. @throws LabError("bad-input") on damaged masks */
export function groundedOf(item: unknown): Grounded[] {
  if (!isRecord(item) || !isRecord(item.groundings)) return [];
  const found = Object.entries(item.groundings).flatMap(([phrase, value]): Grounded[] => {
    const span = isRecord(value) ? pair(value.token_positives) : undefined;
    return !isRecord(value) || span === undefined ? [] : [{ phrase, span, mask: maskOf(value.rle_masks) }];
  });
  return found.sort((a, b) => a.span[0] - b.span[0]);
}

/** The refs of a RefCOCOg item whose sentence occurs in its caption, ignoring case; the others are dropped. */
export function foundOf(item: unknown): Grounded[] {
  if (!isRecord(item) || !Array.isArray(item.refs)) return [];
  const caption = textOf(item, "caption")
    .replace(/^"+|"+$/g, "")
    .trim()
    .toLowerCase();
  const found = (item.refs as unknown[]).flatMap((ref): Grounded[] => {
    if (!isRecord(ref) || typeof ref.sentence !== "string") return [];
    const at = caption.indexOf(ref.sentence.toLowerCase());
    if (at < 0) return [];
    const start = [...caption.slice(0, at)].length;
    const phrase = ref.sentence.toLowerCase();
    return [{ phrase, span: [start, start + [...phrase].length], mask: maskOf(ref.segmentation) }];
  });
  return found.sort((a, b) => a.span[0] - b.span[0]);
}

function regionsOf(grounded: readonly Grounded[]): Region[] {
  return grounded.map(({ phrase, mask }) => ({ mask, caption: phrase, category: [] }));
}

/** The value of a one-key object. */
function inner(item: unknown): unknown {
  const values = isRecord(item) ? Object.values(item) : [];
  return values.length === 1 ? values[0] : undefined;
}

function pair(value: unknown): [number, number] | undefined {
  if (!Array.isArray(value)) return undefined;
  const [start, end]: unknown[] = value;
  return typeof start === "number" && typeof end === "number" ? [start, end] : undefined;
}

function textOf(item: unknown, name: string): string {
  const value = isRecord(item) ? item[name] : undefined;
  return typeof value === "string" ? value : "";
}
