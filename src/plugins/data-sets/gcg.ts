/**
 * Grounded captions in three of the forms that Sa2VA trains on: GranD-f and OpenPSG (`groundings`), RefCOCOg (`refs`),
 * Flickr (COCO form with spans). Every grounded phrase is a region with the phrase as its caption
 * (docs/spec/evaluation.md#31-files).
 */
import { isRecord } from "../../engine/bytes/json.ts";
import { type CocoFile, type CocoImage, maskOf, openCoco } from "../../engine/data/readers/coco.ts";
import {
  firstOf,
  has,
  maskType,
  type PictureRow,
  pictureTable,
  type Reader,
  type Region,
  RUNS,
} from "../../engine/data/readers/reader.ts";
import type { LeftOut } from "../../engine/data/sample.ts";
import { badInput, quote } from "../../engine/errors.ts";

/** A phrase of a caption with its mask and its position in the caption. */
export interface Grounded {
  readonly phrase: string;
  /** Position in code points of the caption: [start, end). */
  readonly span: readonly [number, number];
  readonly mask: unknown;
}

/** Code points [start, end) of a text, as Python counts. */
function codePoints(text: string, [start, end]: readonly [number, number]): string {
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
    const { images, left } = usable(coco);
    const read = async (row: number): Promise<PictureRow> => {
      const [id, image] = images[row] ?? [];
      if (id === undefined || image === undefined) throw badInput(`${records.name} has no picture ${row}`);
      const grounded: Grounded[] = [];
      for (const place of coco.byImage.get(id) ?? []) {
        const { tokens_positive: spans, sam_mask } = await coco.annotation(place);
        const span = Array.isArray(spans) ? pair(spans[0]) : undefined;
        const phrase = span === undefined ? "" : codePoints(image.caption ?? "", span);
        if (span === undefined) grounded.push(unplaced(phrase, "has no tokens_positive"));
        else grounded.push({ phrase, span, mask: sam_mask ?? null });
      }
      return { image: image.fileName, regions: regionsOf(grounded.sort(byStart)) };
    };
    return { table: pictureTable(images.length, RUNS, coco.problem, read), left: [...coco.left, ...left] };
  },
};

/** Smallest side in pixels and fewest words of a caption that Sa2VA's reader of the set uses. */
const MIN_SIDE = 32;
const MIN_WORDS = 3;

/** Pictures with annotations that Sa2VA's reader uses, and what it drops. */
function usable({ images, byImage }: CocoFile): { images: [string, CocoImage][]; left: LeftOut[] } {
  const kept: [string, CocoImage][] = [];
  const drops = [
    { why: `a side under ${MIN_SIDE} pixels`, pictures: 0, lost: 0 },
    { why: `a caption of fewer than ${MIN_WORDS} words`, pictures: 0, lost: 0 },
  ] as const;
  for (const [id, image] of images) {
    const phrases = byImage.get(id)?.length ?? 0;
    const [small, short] = drops;
    // As Python's split(" ") counts words.
    const words = (image.caption ?? "").split(" ").length;
    const drop = Math.min(image.width, image.height) < MIN_SIDE ? small : words < MIN_WORDS ? short : undefined;
    if (phrases === 0) continue;
    if (drop === undefined) kept.push([id, image]);
    else Object.assign(drop, { pictures: drop.pictures + 1, lost: drop.lost + phrases });
  }
  const left = drops.flatMap(({ why, pictures, lost }) =>
    lost === 0
      ? []
      : [{ reason: `phrases of pictures with ${why} are left out, as in Sa2VA: ${lost} of ${pictures}`, lost }],
  );
  return { images: kept, left };
}

/** The grounded phrases of a GranD-f item, in the order of the caption. @throws LabError("bad-input") on damaged masks */
function groundedOf(item: unknown): Grounded[] {
  if (!isRecord(item) || !isRecord(item.groundings)) return [];
  const found = Object.entries(item.groundings).map(([phrase, value]): Grounded => {
    const span = isRecord(value) ? pair(value.token_positives) : undefined;
    if (!isRecord(value) || span === undefined) return unplaced(phrase, "has no token_positives");
    return { phrase, span, mask: maskOf(value.rle_masks) };
  });
  return found.sort(byStart);
}

/** The refs of a RefCOCOg item whose sentence occurs in its caption, ignoring case; the others come last, each with an error. */
function foundOf(item: unknown): Grounded[] {
  if (!isRecord(item) || !Array.isArray(item.refs)) return [];
  const caption = textOf(item, "caption")
    .replace(/^"+|"+$/g, "")
    .trim()
    .toLowerCase();
  const found = (item.refs as unknown[]).map((ref): Grounded => {
    if (!isRecord(ref) || typeof ref.sentence !== "string") return unplaced("", "is not text");
    const phrase = ref.sentence.toLowerCase();
    const at = caption.indexOf(phrase);
    if (at < 0) return unplaced(phrase, "is not in the caption");
    const start = [...caption.slice(0, at)].length;
    return { phrase, span: [start, start + [...phrase].length], mask: maskOf(ref.segmentation) };
  });
  return found.sort(byStart);
}

/** A phrase without a place in its caption, after those with one. */
function unplaced(phrase: string, why: string): Grounded {
  return { phrase, span: [Infinity, Infinity], mask: badInput(`the phrase ${quote(phrase, 80)} ${why}`) };
}

function byStart(a: Grounded, b: Grounded): number {
  return a.span[0] === b.span[0] ? 0 : a.span[0] - b.span[0];
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
