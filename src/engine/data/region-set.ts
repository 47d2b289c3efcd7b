import type { ByteFolder, ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type ArrowTable, openArrow } from "./arrow-table.ts";
import { type PictureProbe, pictureBytes } from "./picture.ts";
import { adaptRow } from "./row.ts";
import type { RegionSample, RegionSummary, SkippedRow } from "./sample.ts";
import { type Adapter, chooseAdapter, schemaText } from "./schema.ts";
import { listShards, type ShardPath } from "./shards.ts";

/** A shard that was opened, for display. */
export interface ShardInfo {
  readonly name: string;
  readonly bytes: number;
  readonly rows: number;
  readonly batches: number;
  /** Columns with their types in words. */
  readonly schema: string;
  /** Name of the adapter; empty when the file could not be used. */
  readonly adapter: string;
  /** Column names by the part they play; undefined when the file could not be used. */
  readonly roles?: { readonly image: string; readonly mask: string; readonly text: string };
  readonly split: string | undefined;
}

/** All regions of a folder of shards. The lists grow while the index is built. */
export interface RegionSet {
  readonly summaries: readonly RegionSummary[];
  readonly skipped: readonly SkippedRow[];
  readonly files: readonly ShardInfo[];
  readonly ignored: readonly { readonly name: string; readonly reason: string }[];
  /**
   * The sample at a place in `summaries`, its picture's bytes read now.
   * @throws LabError("bad-input") when there is no such sample, "storage" when the file can no longer be read
   */
  sample(index: number): Promise<RegionSample>;
}

export interface RegionSetOptions {
  readonly signal?: AbortSignal;
  /** After every few rows: rows seen of the rows known so far. */
  readonly onProgress?: (progress: { file: string; rows: number; totalRows: number; samples: number }) => void;
  /** New regions as they are found, so that the first rows can be shown early. */
  readonly onRows?: (added: readonly RegionSummary[], set: RegionSet) => void;
}

/** Rows between two reports. */
const REPORT_EVERY = 16;

interface Opened {
  readonly table: ArrowTable;
  readonly adapter: Adapter;
}

/**
 * Indexes every region of a folder: shards are chosen by listShards, opened by their headers, and each row is checked
 * without reading its picture beyond header and samples. Whatever is wrong ends in `skipped` with one sentence; the
 * good rows stay.
 * @throws LabError("cancelled") when the signal fires; nothing else for odd content
 */
export async function openRegionSet(folder: ByteFolder, options: RegionSetOptions = {}): Promise<RegionSet> {
  const { shards, ignored, problems } = await listShards(folder);
  const summaries: RegionSummary[] = [];
  const skipped: SkippedRow[] = [...problems];
  const files: ShardInfo[] = [];
  const places: { opened: Opened; picture: PictureProbe }[] = [];
  const set: RegionSet = {
    summaries,
    skipped,
    files,
    ignored,
    sample: async (index) => {
      const [summary, place] = [summaries[index], places[index]];
      if (summary === undefined || place === undefined) {
        throw new LabError("bad-input", `there is no sample ${index}, only ${summaries.length}`);
      }
      return readSample(summary, place.opened, place.picture);
    },
  };
  const opened: { name: string; shard: Opened }[] = [];
  for (const shard of shards) {
    const source = folder.get(shard.path) as ByteSource;
    const entry = await open(source, shard, options, files, skipped);
    if (entry !== undefined) opened.push({ name: shard.path, shard: entry });
  }
  const totalRows = opened.reduce((sum, { shard }) => sum + shard.table.rows, 0);
  let rows = 0;
  for (const { name, shard } of opened) {
    let added: RegionSummary[] = [];
    const report = (): void => {
      if (added.length > 0) options.onRows?.(added, set);
      added = [];
      options.onProgress?.({ file: name, rows, totalRows, samples: summaries.length });
    };
    for (let row = 0; row < shard.table.rows; row++) {
      if (options.signal?.aborted) throw new LabError("cancelled", `reading ${name} was cancelled at row ${row}`);
      try {
        const adapted = await adaptRow(shard.table, shard.adapter, row);
        for (const { column, reason } of adapted.skipped) skipped.push({ file: name, row, column, reason });
        for (const region of adapted.picture === undefined ? [] : adapted.regions) {
          const { width, height, imageId } = adapted.picture as PictureProbe;
          const { mask, caption, category } = region;
          const summary: RegionSummary = {
            index: summaries.length,
            id: adapted.masks > 1 ? `${name}#${row}/${region.region}` : `${name}#${row}`,
            file: name,
            row,
            region: region.region,
            width,
            height,
            caption,
            category,
            maskShare: region.area / (width * height),
            mask,
            imageId,
          };
          summaries.push(summary);
          added.push(summary);
          places.push({ opened: shard, picture: adapted.picture as PictureProbe });
        }
      } catch (thrown) {
        // The file itself failed (moved, changed): the rows before stay, the rest of it is given up.
        if (!(thrown instanceof LabError) || thrown.code !== "storage") throw thrown;
        skipped.push({
          file: name,
          row: -1,
          column: "",
          reason: `${thrown.message}; rows from ${row} on are left out`,
        });
        break;
      }
      rows++;
      // The very first row is shown at once.
      if (rows === 1 || rows % REPORT_EVERY === 0) report();
    }
    report();
  }
  return set;
}

/** Opens one shard and chooses its adapter; problems of the whole file become one skipped entry. */
async function open(
  source: ByteSource,
  { path, split }: ShardPath,
  options: RegionSetOptions,
  files: ShardInfo[],
  skipped: SkippedRow[],
): Promise<Opened | undefined> {
  const whole = (reason: string): void => {
    skipped.push({ file: path, row: -1, column: "", reason });
  };
  const info = { name: path, bytes: source.size, split };
  try {
    const table = await openArrow(source, options.signal === undefined ? {} : { signal: options.signal });
    const { index } = table;
    if (index.problem !== undefined) whole(index.problem);
    const adapter = chooseAdapter(index.fields);
    const shown = { ...info, rows: table.rows, batches: index.batches.length, schema: schemaText(index.fields) };
    if (typeof adapter !== "string") {
      const name = (column: number): string => index.fields[column]?.name ?? "";
      const roles = { image: name(adapter.image), mask: name(adapter.mask), text: name(adapter.text) };
      files.push({ ...shown, adapter: adapter.name, roles });
      return { table, adapter };
    }
    files.push({ ...shown, adapter: "" });
    whole(`${path} has ${adapter}`);
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code === "cancelled") throw thrown;
    files.push({ ...info, rows: 0, batches: 0, schema: "", adapter: "" });
    whole(thrown.message);
  }
  return undefined;
}

async function readSample(
  summary: RegionSummary,
  { table, adapter }: Opened,
  picture: PictureProbe,
): Promise<RegionSample> {
  const bytes = pictureBytes(await table.cell(adapter.image, summary.row));
  const { mime, width, height, orientation } = picture;
  const whole = (await bytes.read(0, bytes.length)) as Uint8Array<ArrayBuffer>;
  return {
    id: summary.id,
    image: { bytes: whole, mime, width, height, orientation },
    mask: summary.mask,
    caption: summary.caption,
    category: summary.category,
    imageId: summary.imageId,
    source: { file: summary.file, row: summary.row, region: summary.region },
  };
}
