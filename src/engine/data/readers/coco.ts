/** COCO instances, and region captions in COCO form (MDETR), with a caption on the annotation or on the picture. */

import { addTo } from "../../bytes/collections.ts";
import { isRecord } from "../../bytes/json.ts";
import { badInput, LabError, quote } from "../../errors.ts";
import { mergeRles, parseRle, type Rle, rleFromPolygons } from "../mask/rle.ts";
import type { Records } from "../records/records.ts";
import type { LeftOut } from "../sample.ts";
import {
  firstOf,
  has,
  maskType,
  pictureTable,
  type ReadContext,
  type Reader,
  type ReadTable,
  type Region,
} from "./reader.ts";

// A COCO file (images, annotations, categories) indexed by its ids; annotations stay in the file.

/** A picture of a COCO file. */
export interface CocoImage {
  /** As in the file: programs that sort ids sort numbers by value and names as text. */
  readonly id: string | number;
  readonly fileName: string;
  readonly height: number;
  readonly width: number;
  readonly caption: string | undefined;
}

/** The index of a COCO file. Ids are compared as text: numbers and names both occur. */
export interface CocoFile {
  readonly images: ReadonlyMap<string, CocoImage>;
  /** Indices of the annotations of a picture, in file order, by its id. */
  readonly byImage: ReadonlyMap<string, readonly number[]>;
  /** Index of an annotation by its id, without ids that several annotations have. */
  readonly byId: ReadonlyMap<string, number>;
  readonly categories: ReadonlyMap<string, string>;
  /** Annotations that belong to no picture of the file, or not to one alone. */
  readonly left: readonly LeftOut[];
  /** A sentence when the file is truncated. */
  readonly problem: string | undefined;
  /** The annotation at an index. @throws LabError("bad-input") when it is damaged */
  annotation(place: number): Promise<Readonly<Record<string, unknown>>>;
}

/**
 * @param regions number of regions of an annotation
 * @param seen receives every annotation of a picture
 * @throws LabError("bad-input") when it has no images or annotations, or an error of the records
 */
export async function openCoco(
  records: Records,
  regions: (annotation: Readonly<Record<string, unknown>>) => number = () => 1,
  seen?: (annotation: Readonly<Record<string, unknown>>, image: CocoImage) => void,
): Promise<CocoFile> {
  const [images, annotations, categories] = await Promise.all(
    ["images", "annotations", "categories"].map((key) => listOf(records, key)),
  );
  if (images === undefined || annotations === undefined) {
    throw badInput(`${records.name} has no lists of images and annotations`, records.name);
  }
  const names = new Map<string, string>();
  if (categories !== undefined) {
    for await (const [, item] of categories.each()) {
      if (isRecord(item) && typeof item.name === "string") names.set(idText(item.id), item.name);
    }
  }
  const pictures = new Map<string, CocoImage>();
  const nameless = new Set<string>();
  const shared = new Set<string>();
  for await (const [, item] of images.each()) {
    // LVIS identifies pictures by address.
    const fileName = isRecord(item) ? (item.file_name ?? item.coco_url) : undefined;
    if (!isRecord(item) || typeof fileName !== "string") {
      if (isRecord(item)) nameless.add(idText(item.id));
      continue;
    }
    const id = idText(item.id);
    const picture: CocoImage = {
      id: typeof item.id === "number" ? item.id : id,
      fileName,
      height: Number(item.height),
      width: Number(item.width),
      caption: typeof item.caption === "string" ? item.caption : undefined,
    };
    const other = pictures.get(id);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(picture)) shared.add(id);
    pictures.set(id, picture);
  }
  for (const id of shared) pictures.delete(id);
  const byImage = new Map<string, number[]>();
  const byId = new Map<string, number>();
  const repeated = new Set<string>();
  const orphans: Lost = { lost: 0, first: undefined, why: "a picture that it does not list" };
  const unnamed: Lost = { lost: 0, first: undefined, why: "a picture without a file name" };
  const doubtful: Lost = { lost: 0, first: undefined, why: "a picture whose id another one has" };
  const damaged: Lost = { lost: 0, first: undefined, why: "" };
  for await (const [place, item] of annotations.each()) {
    if (!isRecord(item)) {
      damaged.lost++;
      continue;
    }
    const image = idText(item.image_id);
    const picture = pictures.get(image);
    if (picture !== undefined) seen?.(item, picture);
    else {
      const group = shared.has(image) ? doubtful : nameless.has(image) ? unnamed : orphans;
      group.lost += regions(item);
      group.first ??= quote(item.image_id);
    }
    addTo(byImage, image, place);
    const id = idText(item.id);
    if (byId.has(id)) repeated.add(id);
    byId.set(id, place);
  }
  for (const id of repeated) byId.delete(id);
  return {
    images: pictures,
    byImage,
    byId,
    categories: names,
    left: [
      ...[orphans, unnamed, doubtful].flatMap(({ lost, first, why }) =>
        lost === 0 ? [] : [{ reason: `${counted(lost)} of ${why} (first: image_id ${first})`, lost }],
      ),
      ...(damaged.lost === 0 ? [] : [{ reason: `${counted(damaged.lost)} no object`, lost: damaged.lost }]),
    ],
    problem: annotations.problem ?? images.problem ?? records.problem,
    annotation: async (place) => {
      const item = await annotations.item(place);
      if (isRecord(item)) return item;
      throw badInput(`annotation ${place} of ${records.name} is not an object`, records.name);
    },
  };
}

/** Annotations that are left out for one reason. */
interface Lost {
  lost: number;
  first: string | undefined;
  readonly why: string;
}

function counted(annotations: number): string {
  return annotations === 1 ? "1 annotation is left out: it is" : `${annotations} annotations are left out: they are`;
}

/** An id as text, whether it is a number or a name. */
export function idText(id: unknown): string {
  return typeof id === "string" || typeof id === "number" || typeof id === "bigint" ? String(id) : "";
}

async function listOf(records: Records, key: string): Promise<Records | undefined> {
  const at = records.keys.indexOf(key);
  const inside = at < 0 ? undefined : await records.inside(at);
  return inside?.shape === "list" ? inside : undefined;
}

// Segmentations of COCO files as masks in a supported form.

/** Whether a value is run lengths. */
function isRuns(value: unknown): boolean {
  return isRecord(value) && "counts" in value;
}

/**
 * A segmentation as one mask: run lengths unchanged, a list of them united, polygons with the size that the record
 * states, if any; null if there is none; the error of a list of run lengths that are damaged or of different sizes, so
 * that only its region is lost.
 * @param stated the record of the picture
 */
export function maskOf(
  segmentation: unknown,
  stated: { readonly height?: unknown; readonly width?: unknown } = {},
): unknown {
  if (segmentation === undefined || segmentation === null) return null;
  if (!Array.isArray(segmentation)) return segmentation;
  if (!segmentation.every(isRuns)) {
    const size = [stated.height, stated.width];
    const known = size.every((side) => Number.isInteger(side) && Number(side) > 0);
    return known ? { polygons: segmentation, size } : segmentation;
  }
  const runs = segmentation as unknown[];
  return runs.length === 0 ? null : orItsError(() => mergeRles(runs.map(parseRle), "union"));
}

/** The result, or the error of a damaged mask in its place. */
function orItsError<T>(make: () => T): T | LabError {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof LabError) return thrown;
    throw thrown;
  }
}

/** Several segmentations of one picture as one mask; null for none, the error of a damaged one. */
export function unitedMask(segmentations: readonly unknown[], height: number, width: number): Rle | LabError | null {
  return orItsError(() => {
    const masks = segmentations.map((segmentation) => {
      const mask = maskOf(segmentation);
      if (mask instanceof LabError) throw mask;
      if (isRuns(mask)) return parseRle(mask);
      return rleFromPolygons(Array.isArray(mask) ? (mask as number[][]) : [], height, width);
    });
    return masks.length === 0 ? null : mergeRles(masks, "union");
  });
}

/** Region captions: the picture or annotation has a caption in addition to the mask. */
export const regionCaptions: Reader = {
  label: "region-captions",
  what: "region captions in COCO form",
  recognise: (sign) => {
    const [image, annotation] = [firstOf(sign, "images"), firstOf(sign, "annotations")];
    if (!has(image, "id") || !has(annotation, "segmentation")) return undefined;
    const where = textOf(annotation) !== undefined ? "annotations" : has(image, "caption") ? "images" : undefined;
    return where === undefined ? undefined : `images and annotations with segmentation, captions on the ${where}`;
  },
  open: openRegions,
};

/** Names of the texts of an annotation or segment, in the order of trial. */
const TEXT_FIELDS =
  "caption captions description descriptions expression expressions sentence sentences phrase phrases text texts".split(
    " ",
  );

/**
 * The text of an annotation or segment: of several the first that is not blank. An empty text if it has only blank ones;
 * undefined if it has none.
 */
export function textOf(record: Readonly<Record<string, unknown>>): string | undefined {
  const texts = TEXT_FIELDS.flatMap((name) => (Object.hasOwn(record, name) ? [record[name]].flat() : [])).map(
    (value) => (isRecord(value) ? (value.raw ?? value.sent ?? value.text) : value),
  );
  const given = texts.filter((value) => typeof value === "string");
  return given.find((value) => value.trim() !== "") ?? given[0];
}

/** A sentence about category names in place of captions. @param named regions without a text, of `all` */
export function namesNote(named: number, all: number, advice = ""): string[] {
  if (named === 0) return [];
  if (named === all) return [`it has no captions, so category names replace them${advice}`];
  return [`${named} of ${all} regions have no caption, so their category names replace it`];
}

/** Instances: the category is the only text about a mask. */
export const cocoInstances: Reader = {
  label: "coco-instances",
  what: "COCO instances",
  recognise: (sign) =>
    has(firstOf(sign, "images"), "id") && has(firstOf(sign, "annotations"), "image_id", "segmentation")
      ? "images and annotations with segmentation"
      : undefined,
  open: openRegions,
};

async function openRegions({ records, sign }: ReadContext): Promise<ReadTable> {
  let [named, all] = [0, 0];
  const coco = await openCoco(records, undefined, (annotation, image) => {
    all++;
    if (textOf(annotation) === undefined && image.caption === undefined) named++;
  });
  const rows = [...coco.images].flatMap(([id, image]) => {
    const places = coco.byImage.get(id);
    return places === undefined ? [] : [{ image, places }];
  });
  const read = async (index: number): Promise<{ image: string; regions: Region[] }> => {
    const row = rows[index];
    if (row === undefined) throw badInput(`${records.name} has no picture ${index}`);
    const regions: Region[] = [];
    for (const place of row.places) {
      const annotation = await coco.annotation(place);
      const category = coco.categories.get(String(annotation.category_id));
      const own = textOf(annotation);
      const caption = own ?? row.image.caption ?? category ?? "";
      const isShared = own === undefined && row.image.caption !== undefined && row.places.length > 1;
      regions.push({
        mask: isShared
          ? badInput(
              `the caption of the picture is the only text of its ${row.places.length} annotations, so it describes none of them alone`,
            )
          : maskOf(annotation.segmentation, row.image),
        caption,
        category: category === undefined ? [] : [category],
      });
    }
    return { image: row.image.fileName, regions };
  };
  const type = maskType(firstOf(sign, "annotations")?.segmentation);
  const notes = namesNote(named, all, "; a refs file next to it adds expressions");
  return { table: pictureTable(rows.length, type, coco.problem, read), notes, left: coco.left };
}
