/** Rows of suites from files: regions of any data set, or pictures that a file of records names. */
import { addTo } from "../../engine/bytes/collections.ts";
import type { ByteFolder } from "../../engine/bytes/source.ts";
import { pictureBytes, probePicture } from "../../engine/data/image/picture.ts";
import { readMask } from "../../engine/data/mask/mask-read.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { READERS, recogniseRecords } from "../../engine/data/readers/all.ts";
import { type ReadContext, signOf } from "../../engine/data/readers/reader.ts";
import { openRecords, unlessDamaged } from "../../engine/data/records/records.ts";
import { openRegionSet, type ShardInfo } from "../../engine/data/region-set.ts";
import type { EncodedImage } from "../../engine/data/sample.ts";
import { siblingsOf } from "../../engine/data/siblings.ts";
import { RECORDS } from "../../engine/data/tables/list-tables.ts";
import { badInput, LabError, toLabError } from "../../engine/errors.ts";
import { mountArchives } from "../archives/mount.ts";
import type { SuiteItem, SuiteRows } from "./suite.ts";

/**
 * Every region of a data set, its caption as the text.
 * @param refs whether only rows of referring expressions count; other files then only provide pictures and masks
 * @throws LabError("bad-input") when there are none, or those of several data sets
 */
export async function regionRows(
  folder: ByteFolder,
  split: string | undefined,
  signal: AbortSignal | undefined,
  refs: boolean,
): Promise<SuiteRows> {
  if (refs) requireReader("refs", "a refs file");
  const options = { ...(split === undefined ? {} : { split }), ...(signal === undefined ? {} : { signal }) };
  const set = await openRegionSet(folder, options);
  const own = set.files.filter(({ reason }) => !refs || reason?.startsWith("referring expressions") === true);
  if (refs) refuseOtherRefs(own);
  const names = new Set(own.map(({ name }) => name));
  const rows = set.summaries.filter(({ file }) => names.has(file));
  const pictures = rows.filter(({ frames }) => frames === undefined);
  const clips = rows.length - pictures.length;
  const others = set.summaries.length - rows.length;
  return {
    items: pictures.map(({ id, imageId, caption, mask }) => ({
      id,
      imageId,
      size: mask.size,
      text: caption,
      masks: [mask],
    })),
    leftOut: [
      ...set.ignored.flatMap(({ name, reason, split: other }) =>
        names.has(name) ? [reason] : other === undefined ? [] : [`${name}: ${reason}`],
      ),
      ...set.skipped.map(({ file, row, reason }) => (row < 0 ? reason : `${file}, row ${row}: ${reason}`)),
      ...(clips === 0 ? [] : [`${clips} rows are clips, which suites of pictures do not score`]),
      ...(others === 0 ? [] : [`${others} rows come from files without referring expressions`]),
    ],
    picture: async (index) => (await set.sample(pictures[index]?.index ?? -1)).image,
  };
}

/** @throws LabError("bad-input") where no reader of this build knows a kind of file: those of data sets are a plug-in's */
function requireReader(label: string, what: string): void {
  if (READERS.some((reader) => reader.label === label)) return;
  throw badInput(`The suite needs ${what}, which this build has no plug-in to read`, label);
}

/** Refs of one data set are in one directory. @throws LabError("bad-input") for none and for several */
function refuseOtherRefs(files: readonly ShardInfo[]): void {
  const full = files.filter(({ rows }) => rows > 0).map(({ name }) => name.slice(0, name.lastIndexOf("/") + 1) || ".");
  const directories = [...new Set(full)];
  if (files.length > 0 && directories.length < 2) return;
  throw badInput(
    files.length === 0
      ? "The suite needs a refs file with its instances and pictures; the data have none"
      : `The data have refs files in ${directories.join(", ")}; name the folder of one data set`,
  );
}

/** A file of records with its recognised kind. */
export type SuiteFile = Pick<ReadContext, "path" | "records" | "sign" | "folder">;

/**
 * Files of records by the label of their reader (`src/engine/data/readers`).
 * @throws LabError("bad-input") when a wanted kind is missing, "cancelled"
 */
export async function findFiles(
  dropped: ByteFolder,
  wanted: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, readonly SuiteFile[]>> {
  for (const [label, what] of Object.entries(wanted)) requireReader(label, what);
  const { folder } = await mountArchives(dropped, signal);
  const found = new Map<string, SuiteFile[]>();
  for (const path of folder.paths.filter((one) => RECORDS.test(one))) {
    const source = folder.get(path);
    const opened = source === undefined ? undefined : await unlessDamaged(() => openRecords(source, signal));
    if (opened === undefined || opened.length === 0) continue;
    const sign = await unlessDamaged(() => signOf(opened));
    const label = sign === undefined ? undefined : recogniseRecords(sign)?.reader.label;
    if (sign === undefined || label === undefined || !(label in wanted)) continue;
    addTo(found, label, { path, records: opened, sign, folder });
  }
  const missing = Object.keys(wanted).find((label) => !found.has(label));
  if (missing === undefined) return found;
  throw badInput(`The suite needs ${wanted[missing]}; the data have no such file`, missing);
}

/**
 * The file of a kind: the only one with the published name, or else the only one.
 * @throws LabError("bad-input") when there are several to choose from
 */
export function onlyFile(found: ReadonlyMap<string, readonly SuiteFile[]>, label: string, name = ""): SuiteFile {
  const files = found.get(label) ?? [];
  const named = files.filter(({ path }) => path === name || path.endsWith(`/${name}`));
  const [file, other] = (named.length === 0 ? files : named) as [SuiteFile, SuiteFile?];
  if (other === undefined) return file;
  const message = `The data have ${file.path} and ${other.path}; the suite needs one of them: leave out the other`;
  throw badInput(message, other.path);
}

/** A row before its picture is read. */
export type PictureItem = Omit<SuiteItem, "imageId" | "size">;

/** A picture with its rows. */
export interface PictureEntry {
  /** Path or bytes of the picture, as a cell holds them. */
  readonly picture: unknown;
  /** Rows of the picture. @throws LabError with one sentence when they are damaged */
  rows(masks: (segmentation: unknown) => Promise<Rle>): Promise<readonly PictureItem[]>;
}

/** Rows of pictures next to a file. A picture is left out if reading it or its rows throws anything. */
export async function pictureRows(
  { folder, path }: Pick<SuiteFile, "folder" | "path">,
  entries: readonly PictureEntry[],
  signal?: AbortSignal,
): Promise<SuiteRows> {
  const find = siblingsOf(folder)(path);
  const items: SuiteItem[] = [];
  const leftOut: string[] = [];
  const pictures: (() => Promise<EncodedImage>)[] = [];
  // Answers are kept by id, so a second row of an id would be scored with the answer of the first.
  const ids = new Set<string>();
  for (const { picture, rows } of entries) {
    if (signal?.aborted) throw new LabError("cancelled", `Reading ${path} was cancelled`);
    try {
      const bytes = pictureBytes(picture, find);
      const { imageId, mime, width, height } = await probePicture(bytes);
      const read = async (): Promise<EncodedImage> => ({
        bytes: (await bytes.read(0, bytes.length)) as Uint8Array<ArrayBuffer>,
        mime,
        width,
        height,
        orientation: 1,
      });
      for (const item of await rows((value) => fitted(value, { height, width, find }))) {
        if (ids.has(item.id)) leftOut.push(`${item.id}: an earlier row has the same id`);
        else {
          ids.add(item.id);
          items.push({ ...item, imageId, size: [height, width] });
          pictures.push(read);
        }
      }
    } catch (thrown) {
      const error = toLabError(thrown);
      if (error.code === "cancelled") throw error;
      leftOut.push(`${typeof picture === "string" ? picture.slice(0, 80) : path}: ${error.message}`);
    }
  }
  return {
    items,
    leftOut,
    picture: async (index) => {
      const read = pictures[index];
      if (read === undefined) throw new LabError("internal", `There is no row ${index}`);
      return read();
    },
  };
}

async function fitted(value: unknown, size: Parameters<typeof readMask>[1]): Promise<Rle> {
  const mask = await readMask(value, size);
  const [height, width] = mask.size;
  if (height === size.height && width === size.width) return mask;
  throw badInput(`a mask is ${width} x ${height} pixels, the picture ${size.width} x ${size.height}`);
}
