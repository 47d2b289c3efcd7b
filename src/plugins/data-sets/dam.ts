/**
 * Annotations of describe-anything: an object of sample ids with one region or a list of them. Pictures are members
 * `<id>.jpg` of tar shards, frames of videos (the subset SAV) `<id>.0.jpg`, `<id>.1.jpg`, …
 */

import { addTo } from "../../engine/bytes/collections.ts";
import { isRecord } from "../../engine/bytes/json.ts";
import { type ByteFolder, type ByteSource, directoryOf } from "../../engine/bytes/source.ts";
import {
  column,
  has,
  listOf,
  type PictureRow,
  pictureTable,
  type ReadContext,
  type Reader,
  RUNS,
  remembered,
  type Sign,
  TEXT,
} from "../../engine/data/readers/reader.ts";
import type { Records } from "../../engine/data/records/records.ts";
import { type Cell, type Table, valueMeter } from "../../engine/data/tables/table.ts";
import { badInput, quote } from "../../engine/errors.ts";
import { checkMaskCount } from "../clips/clip-row.ts";
import { framesOf } from "./clips.ts";

/** Number of cached samples; the regions of a video are consecutive rows. */
const KEPT = 4;

const PICTURE = /^(?:.*\/|)([^/.]+)\.(?:jpe?g|png|webp)$/i;
const FRAME = /^(?:.*\/|)([^/.]+)\.(\d+)\.(?:jpe?g|png|webp)$/i;

export const dam: Reader = {
  label: "dam-annotations",
  what: "describe-anything annotations",
  recognise: (sign) =>
    sign.shape === "object" && has(firstRegion(sign), "mask_rle", "caption")
      ? "sample ids with regions of mask_rle and caption"
      : undefined,
  open: async (context) => {
    const masks = (firstRegion(context.sign) as { readonly mask_rle?: unknown }).mask_rle;
    return { table: isMasklet(masks) ? await clipTable(context) : regionTable(context), ownsArchives: true };
  },
};

function firstRegion({ values: [first] }: Sign): unknown {
  return first?.item ?? first?.value;
}

/** Whether this is a list with a mask per frame. */
function isMasklet(masks: unknown): boolean {
  return Array.isArray(masks) && masks.some((mask) => has(mask, "size", "counts"));
}

function regionTable({ records, folder, path }: ReadContext): Table {
  const pictures = filesByKey(folder, path, PICTURE);
  const read = async (row: number): Promise<PictureRow> => {
    const key = records.keys[row] ?? "";
    const regions = regionsOf(await records.item(row));
    const [first] = regions;
    const named = typeof first?.image === "string" ? first.image : `${key}.jpg`;
    return {
      image: pictures(key, first)[0]?.slice(directoryOf(path).length) ?? named,
      regions: regions.map(({ mask_rle, caption, category }) => ({
        mask: mask_rle ?? null,
        caption: textOf(caption),
        category: textOf(category) === "" ? [] : [textOf(category)],
      })),
    };
  };
  return pictureTable(records.length, RUNS, records.problem, read);
}

/** One row per region: the frames of its video and their masks. */
async function clipTable({ records, folder, path }: ReadContext): Promise<Table> {
  const filesOf = filesByKey(folder, path, FRAME);
  const rows = await placesOf(records);
  const samples = remembered(KEPT, async (sample) => regionsOf(await records.item(sample)));
  const sources = remembered(KEPT, async (sample) => {
    const key = records.keys[sample] ?? "";
    const files = filesOf(key, (await samples(sample))[0]).toSorted((a, b) => frameOf(a) - frameOf(b));
    if (files.length === 0) throw badInput(`no frame ${quote(`${key}.0.jpg`)} exists`);
    const frames = files.map((file) => folder.get(file) as ByteSource);
    return { frames, taken: await framesOf(frames) };
  });
  return {
    columns: ["caption", "category"]
      .map((name) => column(name, TEXT))
      .concat(column("frames", listOf(TEXT)), column("masks", listOf(RUNS))),
    rows: rows.length,
    batches: 1,
    problem: records.problem,
    cell: async (at, row, pass) => {
      const { sample, region } = rows[row] as (typeof rows)[number];
      const { caption, category, mask_rle } = (await samples(sample))[region] ?? {};
      if (at < 2) return textOf(at === 0 ? caption : category);
      const { frames, taken } = await sources(sample);
      const masks: unknown[] = Array.isArray(mask_rle) ? mask_rle : [];
      checkMaskCount(frames.length, masks.length);
      const cell = taken.map((frame) => (at === 2 ? frames[frame]?.name : masks[frame]) ?? null) as Cell;
      valueMeter(pass).take(JSON.stringify(cell).length);
      return cell;
    },
  };
}

/** The regions of all samples, as indices. */
async function placesOf(records: Records): Promise<{ readonly sample: number; readonly region: number }[]> {
  const rows: { readonly sample: number; readonly region: number }[] = [];
  for await (const [sample, value] of records.each()) {
    for (const region of regionsOf(value).keys()) rows.push({ sample, region });
  }
  return rows;
}

function regionsOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => (isRecord(one) ? one : {}));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function frameOf(file: string): number {
  return Number(FRAME.exec(file)?.[2]);
}

/**
 * Paths of a sample's files: members of its tar shard (in the nearest directory if several have the name), possibly with
 * other leading zeros.
 * @param pattern matches such files; its first group is the key
 */
function filesByKey(
  folder: ByteFolder,
  path: string,
  pattern: RegExp,
): (key: string, region: Readonly<Record<string, unknown>> | undefined) => readonly string[] {
  const base = directoryOf(path);
  const byKey = new Map<string, string[]>();
  const files = folder.paths.flatMap((file) => {
    const name = file.startsWith(base) ? pattern.exec(file)?.[1] : undefined;
    return name === undefined ? [] : [[name, file] as const];
  });
  // Exact names come first.
  for (const [name, file] of files) addTo(byKey, name, file);
  for (const [name, file] of files) if (unpadded(name) !== name) addTo(byKey, unpadded(name), file);
  return (key, region) => {
    const found = byKey.get(key) ?? byKey.get(unpadded(key)) ?? [];
    const tar = typeof region?.tar_file === "string" ? region.tar_file : undefined;
    const own = tar === undefined ? [] : found.filter((file) => `/${file}`.includes(`/${tar}/`));
    const [first] = own.length > 0 ? own : found;
    return first === undefined ? [] : found.filter((file) => siteOf(file) === siteOf(first));
  };
}

/** A file's directory and key: frames of one sample have both in common. */
function siteOf(file: string): string {
  return file.slice(0, file.indexOf(".", directoryOf(file).length));
}

/** A number without its leading zeros; other names unchanged. */
function unpadded(name: string): string {
  return /^\d+$/.test(name) ? name.replace(/^0+(?=\d)/, "") : name;
}
