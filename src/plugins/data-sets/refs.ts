/**
 * Referring expressions (RefCOCO, RefCOCO+, RefCOCOg, RefCLEF, gRefCOCO): refs as pickle or JSON, with masks and
 * pictures from the COCO instances in the same folder. One row per picture with every sentence of every ref, in file
 * order (docs/spec/evaluation.md#13-from-files-to-evaluation-rows-as-sa2va-does-code-run-here-referrowsjson).
 */

import { addTo } from "../../engine/bytes/collections.ts";
import { isRecord } from "../../engine/bytes/json.ts";
import { type ByteFolder, directoryOf } from "../../engine/bytes/source.ts";
import { inSplit, missingSplit } from "../../engine/data/file-splits.ts";
import {
  type CocoFile,
  type CocoImage,
  cocoInstances,
  idText,
  maskOf,
  openCoco,
  unitedMask,
} from "../../engine/data/readers/coco.ts";
import {
  has,
  maskType,
  type Partition,
  type PictureRow,
  pictureTable,
  type ReadContext,
  type Reader,
  type ReadTable,
  type Region,
  signOf,
} from "../../engine/data/readers/reader.ts";
import { openRecords, unlessDamaged } from "../../engine/data/records/records.ts";
import type { LeftOut } from "../../engine/data/sample.ts";
import { badInput, quote } from "../../engine/errors.ts";

/** A ref with its picture and masks. */
export interface Ref {
  readonly id: string;
  readonly imageId: string;
  readonly split: string;
  /** Ids of its masks; none for "no target". */
  readonly annotations: readonly string[];
  readonly sentences: readonly string[];
}

export const refs: Reader = {
  label: "refs",
  what: "referring expressions (RefCOCO form)",
  recognise: ({ first }) =>
    has(first, "ref_id", "sentences") && !Array.isArray(first.ann_id)
      ? "records with ref_id, ann_id and sentences"
      : undefined,
  open: openRefs,
};

export const grefs: Reader = {
  label: "grefs",
  what: "referring expressions with several or no targets (gRefCOCO form)",
  recognise: ({ first }) =>
    has(first, "ref_id", "sentences") && Array.isArray(first.ann_id)
      ? "records with ref_id and sentences, ann_id a list"
      : undefined,
  open: openRefs,
};

async function openRefs(context: ReadContext): Promise<ReadTable> {
  const { path } = context;
  const { rows: all, coco, file, split, splits, left, problem, partition, damaged } = await readRefs(context);
  const orphans = all.filter(([ref]) => !coco.images.has(ref?.imageId ?? ""));
  const rows = all.filter(([ref]) => coco.images.has(ref?.imageId ?? ""));
  const lost = orphans.flat().reduce((sum, ref) => sum + Math.max(1, ref.sentences.length), 0);
  const first = orphans[0]?.[0]?.imageId;
  const reason = `sentences about pictures that the instances lack or have twice are left out: ${lost} (first picture: ${first})`;
  const place = coco.byId.get(rows[0]?.[0]?.annotations[0] ?? "");
  const example = place === undefined ? undefined : (await coco.annotation(place)).segmentation;
  const read = async (index: number): Promise<PictureRow> => {
    const row = rows[index];
    if (row === undefined) throw badInput(`${path} has no picture ${index}`);
    return readRow(coco, row);
  };
  const table = pictureTable(rows.length, maskType(example), problem, read);
  const notes = left === undefined ? [] : [left];
  return {
    table,
    split,
    splits,
    used: [file],
    notes,
    partition,
    left: [...damaged, ...(lost === 0 ? [] : [{ reason, lost }])],
  };
}

/** Refs of one split with their instances. */
interface RefsFile {
  /** Refs by picture, in file order. */
  readonly rows: readonly (readonly Ref[])[];
  readonly coco: CocoFile;
  /** Path of the instances. */
  readonly file: string;
  readonly split: string;
  /** All splits of the file. */
  readonly splits: readonly string[];
  /** A sentence about the other splits, if there are any. */
  readonly left: string | undefined;
  /** A sentence when a file is truncated. */
  readonly problem: string | undefined;
  readonly partition: Partition;
  /** Refs and sentences that are no text. */
  readonly damaged: readonly LeftOut[];
}

/** @throws LabError("bad-input") when the masks are missing, or an error of the records */
export async function readRefs({ records, path, folder, split, signal }: ReadContext): Promise<RefsFile> {
  const all: Ref[] = [];
  let [without, textless] = [0, 0];
  for await (const [, item] of records.each()) {
    const ref = refOf(item);
    if (ref === undefined) without++;
    else all.push(ref);
    if (ref !== undefined && isRecord(item) && Array.isArray(item.sentences)) {
      textless += item.sentences.length - ref.sentences.length;
    }
  }
  const damaged = [
    { reason: `refs without a list of sentences are left out: ${without}`, lost: without },
    { reason: `sentences that are not text are left out: ${textless}`, lost: textless },
  ].filter(({ lost }) => lost > 0);
  const found = await instancesOf(folder, path, all, signal);
  if (found === undefined) {
    const message = `${path} has ${all.length} refs, but their masks are not here: add instances.json`;
    throw badInput(message, path);
  }
  const names = [...new Set(all.map((ref) => ref.split))].filter((name) => name !== "");
  const wanted = split ?? (names.includes("train") ? "train" : names[0]) ?? "";
  const chosen = names.length === 0 ? all : all.filter((ref) => inSplit(ref.split, wanted));
  const others = all.length - chosen.length;
  const rest = names.filter((name) => !inSplit(name, wanted)).join(", ");
  const note = `split ${wanted} is read: ${chosen.length} refs; ${others} of ${rest} are left out`;
  const { coco, file } = found;
  const problem = records.problem ?? coco.problem;
  const missing = split === undefined ? undefined : missingSplit(names, split);
  const left = missing ?? (others === 0 ? undefined : note);
  return {
    rows: byPicture(chosen),
    coco,
    file,
    split: wanted,
    splits: names,
    left,
    problem,
    partition: partitionOf(all),
    damaged,
  };
}

function partitionOf(all: readonly Ref[]): Partition {
  const splits = new Map(all.map(({ imageId, split }) => [imageId, split]));
  const keys = all.map(({ id, imageId, annotations, sentences }) =>
    [id, imageId, annotations[0], sentences[0]].map((part) => part?.slice(0, 64)).join(" "),
  );
  return { refs: new Set(keys), byPicture: all.every(({ imageId, split }) => splits.get(imageId) === split) };
}

function refOf(item: unknown): Ref | undefined {
  if (!isRecord(item) || !Array.isArray(item.sentences)) return undefined;
  const ids: unknown[] = Array.isArray(item.ann_id) ? item.ann_id : [item.ann_id];
  const sentences = (item.sentences as unknown[]).flatMap((sentence) => {
    const text = isRecord(sentence) ? (sentence.sent ?? sentence.raw) : sentence;
    return typeof text === "string" ? [text] : [];
  });
  return {
    id: idText(item.ref_id),
    imageId: idText(item.image_id),
    split: typeof item.split === "string" ? item.split : "",
    annotations: ids.map(idText).filter((id) => id !== "-1" && id !== ""),
    sentences,
  };
}

function byPicture(chosen: readonly Ref[]): Ref[][] {
  const pictures = new Map<string, Ref[]>();
  for (const ref of chosen) addTo(pictures, ref.imageId, ref);
  return [...pictures.values()];
}

async function readRow(coco: CocoFile, row: readonly Ref[]): Promise<PictureRow> {
  const imageId = row[0]?.imageId ?? "";
  const image = coco.images.get(imageId);
  if (image === undefined) throw badInput(`the refs name picture ${imageId}, which the instances lack`);
  const regions: Region[] = [];
  for (const ref of row) {
    const { mask, category } = await maskOfRef(coco, image, ref);
    for (const caption of ref.sentences) regions.push({ mask, caption, category });
    if (ref.sentences.length === 0) regions.push({ mask, caption: "", category });
  }
  return { image: image.fileName, regions };
}

/** The union of a ref's masks; null for "no target", an error if one of its annotations is missing or damaged. */
export async function maskOfRef(
  coco: CocoFile,
  image: CocoImage,
  ref: Ref,
): Promise<Pick<Region, "mask" | "category">> {
  const category = new Set<string>();
  const segmentations: unknown[] = [];
  for (const id of ref.annotations) {
    const place = coco.byId.get(id);
    if (place === undefined) {
      return {
        mask: badInput(`the ref names annotation ${quote(id)}, which the instances lack or have twice`),
        category: [],
      };
    }
    const annotation = await coco.annotation(place);
    segmentations.push(annotation.segmentation);
    const name = coco.categories.get(idText(annotation.category_id));
    if (name !== undefined) category.add(name);
  }
  const mask =
    segmentations.length === 1 ? maskOf(segmentations[0], image) : unitedMask(segmentations, image.height, image.width);
  return { mask, category: [...category] };
}

/** The instances of a refs file: in its directory, else in one above, else the only ones that contain its masks. */
async function instancesOf(
  folder: ByteFolder,
  path: string,
  all: readonly Ref[],
  signal: AbortSignal | undefined,
): Promise<{ readonly coco: CocoFile; readonly file: string } | undefined> {
  const known = all.find((ref) => ref.annotations.length > 0)?.annotations[0];
  const candidates = folder.paths.filter((one) => one !== path && /\.json$/i.test(one));
  const depth = (one: string): number => {
    const directory = directoryOf(one);
    return path.startsWith(directory) ? directory.length : -1;
  };
  candidates.sort((a, b) => depth(b) - depth(a) || Number(/instances/i.test(b)) - Number(/instances/i.test(a)));
  for (const file of candidates.slice(0, MOST_CANDIDATES)) {
    const source = folder.get(file);
    // The error of a damaged file is reported when it is read as data.
    const records = source === undefined ? undefined : await unlessDamaged(() => openRecords(source, signal));
    if (records?.shape !== "object" || !records.keys.includes("annotations")) continue;
    if (cocoInstances.recognise(await signOf(records)) === undefined) continue;
    const coco = await openCoco(records);
    if (known === undefined || coco.byId.has(known)) return { coco, file };
  }
  return undefined;
}

/** Maximum files to search for instances. */
const MOST_CANDIDATES = 16;
