/**
 * A reader of a kind of file of records (JSON, JSON lines, pickle). It recognises files by the records in them, never
 * by their name, and returns a table of pictures with regions
 * (docs/spec/evaluation.md#52-telling-them-apart-by-schema-detectcasesjson).
 */

import { Lru, remember } from "../../bytes/collections.ts";
import { isRecord } from "../../bytes/json.ts";
import type { ByteFolder } from "../../bytes/source.ts";
import { LabError } from "../../errors.ts";
import type { PictureProbe } from "../image/picture.ts";
import type { MaskContext } from "../mask/mask-read.ts";
import type { Rle } from "../mask/rle.ts";
import { type Records, unlessDamaged } from "../records/records.ts";
import type { LeftOut, SkippedRow } from "../sample.ts";
import type { FindFile } from "../siblings.ts";
import {
  type BinaryCell,
  type Cell,
  type Column,
  type ColumnType,
  type ReadMeter,
  type Table,
  valueMeter,
} from "../tables/table.ts";

/** The start of a file, by which readers recognise it. */
export interface Sign {
  readonly shape: Records["shape"];
  /** First keys of an object. */
  readonly keys: readonly string[];
  /** Readable items of a list or lines that are objects: the first ones, and some spread to the end. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly first: Readonly<Record<string, unknown>> | undefined;
  /** First values of an object, each with its first item if it is a list. */
  readonly values: readonly { readonly key: string; readonly value: unknown; readonly item: unknown }[];
}

/** Input of a reader. */
export interface ReadContext {
  readonly records: Records;
  readonly sign: Sign;
  readonly path: string;
  /** All files that were opened together, with archives as directories. */
  readonly folder: ByteFolder;
  /** Split to read if the file names splits; "train" otherwise. */
  readonly split?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A table with its description for the user. */
export interface ReadTable {
  readonly table: Table;
  readonly split?: string | undefined;
  /** All splits that the rows name, of which one was read. */
  readonly splits?: readonly string[];
  /** Other files that were read with this one. */
  readonly used?: readonly string[];
  /** One sentence per thing that the user should know. */
  readonly notes?: readonly string[];
  /** What the file holds and the table does not. */
  readonly left?: readonly LeftOut[];
  readonly partition?: Partition;
  /** Whether archives of samples in its directory hold its pictures. */
  readonly ownsArchives?: boolean;
}

/** The partition of refs into splits by this file; another file may divide the same refs differently. */
export interface Partition {
  /** Each ref, identified by its ids and the start of its text. */
  readonly refs: ReadonlySet<string>;
  /** Whether no picture is in two splits. */
  readonly byPicture: boolean;
}

/** A kind of file. */
export interface Reader {
  /** Short name, as in `npm run check-data`. */
  readonly label: string;
  /** Description for display. */
  readonly what: string;
  /** The evidence that the file is of this kind, or undefined. */
  recognise(sign: Sign): string | undefined;
  /**
   * Opens the file; a sentence instead for kinds without rows.
   * @throws LabError as reading the records does
   */
  readonly open: ((context: ReadContext) => Promise<ReadTable>) | string;
}

/** What a plug-in adds to the data sets that are recognised. */
export interface DataReaders {
  /** In the order of trial. */
  readonly readers: readonly Reader[];
  /** Readers of samples: pictures with files of the same name. */
  readonly samples: readonly SampleReader[];
  /** Files that are left unread for their name, with the reason. */
  readonly leaves: readonly { readonly path: RegExp; readonly reason: string }[];
  /**
   * Opens the archives of a folder as directories; without it they are files without rows.
   * @throws LabError("cancelled") when the signal aborts; a damaged archive is a problem, never an error
   */
  readonly mount?: (folder: ByteFolder, signal?: AbortSignal) => Promise<MountedFolder>;
  /** Reads rows with several frames, lists of pictures or videos; without it they are left out. */
  readonly frames?: FrameRows;
}

/** A folder with its archives opened. */
export interface MountedFolder {
  readonly folder: ByteFolder;
  /** Paths of the opened archives. */
  readonly archives: ReadonlySet<string>;
  readonly problems: readonly SkippedRow[];
}

/** A video in a cell, and the distance between two of its frames that are read. */
export interface VideoCell {
  readonly cell: unknown;
  readonly every: number;
  readonly find: FindFile;
}

/** Rows whose picture is a list of frames. */
export interface FrameRows {
  /**
   * The row's only region: its masks, one per frame and null where the object is not visible, as the mask of the strip.
   * @throws LabError("bad-input") for frames and masks that do not fit together
   */
  region(
    masks: readonly unknown[],
    frames: readonly (PictureProbe | LabError)[],
    context: Pick<MaskContext, "find" | "meter">,
  ): Promise<FrameRegion>;
  /**
   * The header of every frame of a video.
   * @param masks number of masks of the row, one for each frame that is read
   * @throws LabError("bad-input" | "unsupported") for a video that cannot be used, or another number of masks
   */
  probes(video: VideoCell, masks: number): Promise<readonly PictureProbe[]>;
  /** The frames of a video as encoded pictures. @throws LabError("bad-input" | "unsupported") as `probes` does */
  pictures(video: VideoCell): Promise<readonly BinaryCell[]>;
}

/** The masks of a row's frames as the mask of the strip of its frames. */
export interface FrameRegion {
  readonly mask: Rle;
  /** Total pixels of all frames. */
  readonly area: number;
  /** The strip: the first frame's header with the total height of all frames. */
  readonly picture: PictureProbe;
  readonly frames: number;
}

interface SampleReader {
  readonly label: string;
  readonly what: string;
  /** The samples as a table; undefined if the first ones are of another kind. */
  readonly open: (folder: ByteFolder, samples: readonly Sample[]) => Promise<Table | undefined>;
}

/** Files that share a name, by field: the rest of the base name, in lower case. */
export interface Sample {
  readonly fields: ReadonlyMap<string, string>;
}

/** Number of an object's values that are inspected. */
const VALUES = 16;
/**
 * Number of a list's items that are inspected, and of those at its start; the others are spread to the end, because
 * kinds may follow one another.
 */
const EXAMPLES = 32;
const FIRST = 8;

/**
 * Readable items that are objects, in order. A damaged item is skipped and reported later, when it is read as a row.
 */
export async function examplesOf(
  length: number,
  read: (index: number) => Promise<unknown>,
): Promise<Record<string, unknown>[]> {
  const examples: Record<string, unknown>[] = [];
  for (let at = 0; at < Math.min(EXAMPLES, length); at++) {
    const spread = Math.floor(((at - FIRST + 1) * (length - 1)) / (EXAMPLES - FIRST));
    const item = await unlessDamaged(() => read(length <= EXAMPLES || at < FIRST ? at : spread));
    if (isRecord(item)) examples.push(item);
  }
  return examples;
}

/**
 * Reads the start of records.
 * @throws LabError as reading the records does
 */
export async function signOf(records: Records): Promise<Sign> {
  const { shape, length } = records;
  const keys = records.keys.slice(0, 64);
  if (shape !== "object") {
    const examples = await examplesOf(length, (at) => records.item(at));
    return { shape, keys, examples, first: examples[0], values: [] };
  }
  const values: { key: string; value: unknown; item: unknown }[] = [];
  for (let index = 0; index < Math.min(VALUES, length); index++) {
    const inside = await records.inside(index);
    const list = inside?.shape === "list";
    const item = list && inside.length > 0 ? await inside.item(0) : undefined;
    // A list may be as long as the file: only its first item is parsed.
    const value = list ? [] : await records.item(index);
    values.push({ key: keys[index] ?? "", value, item });
  }
  return { shape, keys, examples: [], first: undefined, values };
}

/** First item of an object's list of that name, if it is an object. */
export function firstOf({ values }: Sign, key: string): Readonly<Record<string, unknown>> | undefined {
  const item = values.find((one) => one.key === key)?.item;
  return isRecord(item) ? item : undefined;
}

/** Whether an object has all of these fields. */
export function has(value: unknown, ...names: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && names.every((name) => Object.hasOwn(value, name));
}

// A table of pictures with regions, from a reader of records: one row per picture, one caption per region.

/** A mask with its texts. */
export interface Region {
  /** Mask in any supported form; null if the text refers to nothing in the picture; an error if it cannot be used. */
  readonly mask: unknown;
  readonly caption: string;
  readonly category: readonly string[];
}

export interface PictureRow {
  /** Path of the picture, which is searched next to the file; an error if there is none. */
  readonly image: string | LabError;
  readonly regions: readonly Region[];
}

export const TEXT: ColumnType = { kind: "text", layout: "small" };
const NUMBERS: ColumnType = listOf({ kind: "float", bits: 64 });
/** Column type of masks, for display only; their values decide how they are read. */
export const POLYGONS: ColumnType = listOf(NUMBERS);
export const RUNS: ColumnType = {
  kind: "struct",
  fields: [column("counts", TEXT), column("size", listOf({ kind: "int", bits: 64, signed: true }))],
};

/** The type that an example of a mask suggests. */
export function maskType(example: unknown): ColumnType {
  return Array.isArray(example) || example === undefined ? POLYGONS : RUNS;
}

/** Number of cached rows, so that all columns of a row come from one read. */
const KEPT = 16;

/**
 * The table of these rows.
 * @param read the row at an index; throws LabError when it is damaged
 */
export function pictureTable(
  rows: number,
  masks: ColumnType,
  problem: string | undefined,
  read: (row: number) => Promise<PictureRow>,
): Table {
  const region: ColumnType = {
    kind: "struct",
    fields: [column("mask", masks), column("caption", TEXT), column("category", listOf(TEXT))],
  };
  const columns = [column("image", TEXT), column("regions", listOf(region))];
  const row = remembered(KEPT, read);
  return {
    columns,
    rows,
    batches: 1,
    problem,
    inPixels: true,
    cell: async (at, index, pass) => {
      const { image, regions } = await row(index);
      if (at === 0 && image instanceof LabError) throw image;
      if (at === 0) return image as string;
      const cell = regions as unknown as readonly Cell[];
      takeCost(cell, valueMeter(pass));
      return cell;
    },
  };
}

/** Caches the last results of a function by its argument; after an error it is called again. */
export function remembered<T>(most: number, make: (index: number) => Promise<T>): (index: number) => Promise<T> {
  const kept = new Lru<number, Promise<T>>(most);
  return (index) => remember(kept, index, () => make(index));
}

/** Counts a value against the limit of its file; values of a pickle may share parts endlessly. */
export function takeCost(value: unknown, meter: ReadMeter): void {
  if (typeof value === "string") meter.take(2 * value.length);
  else if (typeof value === "object" && value !== null) {
    const items: unknown[] = Array.isArray(value) ? (value as unknown[]) : Object.values(value);
    meter.take(16 + 8 * items.length);
    for (const item of items) if (typeof item === "string" || typeof item === "object") takeCost(item, meter);
  }
}

export function column(name: string, type: ColumnType): Column {
  return { name, type, nullable: true };
}

export function listOf(item: ColumnType): ColumnType {
  return { kind: "list", item: { name: "item", type: item, nullable: true }, layout: "small" };
}
