import { PLUGIN_READERS } from "../../plugins/readers.ts";
import { addTo } from "../bytes/collections.ts";
import { inOrder, paced, whileOpen } from "../bytes/pace.ts";
import { type ByteFolder, type ByteSource, directoryOf } from "../bytes/source.ts";
import { badInput, LabError, LONGEST_SENTENCE, shortened, toLabError } from "../errors.ts";
import { doubtsOf, type SetDoubts } from "./doubts.ts";
import { chooseSplits, namedSplit, rowSplits } from "./file-splits.ts";
import { readImageHeader } from "./image/image-header.ts";
import { type PictureProbe, pictureBytes, pictureProbes } from "./image/picture.ts";
import type { MountedFolder } from "./readers/reader.ts";
import { adaptRow, picturesOf } from "./row.ts";
import { rowParts } from "./row-parts.ts";
import type { EncodedImage, RegionSample, RegionSummary, SkippedRow } from "./sample.ts";
import { listShards, nothingFound, readDescription, type ShardPath } from "./shards.ts";
import { type FindFile, inOwnFolder, siblingsOf } from "./siblings.ts";
import { type Layout, layoutOf } from "./tables/identify.ts";
import { type FoundTable, listTables, type TableList, whyLeft } from "./tables/list-tables.ts";
import { type DataMapping, everyOf, MAPPING_FILE, mappingOf, readMapping } from "./tables/mapping.ts";
import { openTable } from "./tables/open-table.ts";
import { type Adapter, chooseAdapter, partNames, type Role, schemaText, type WantedColumns } from "./tables/schema.ts";
import { isBinaryCell, passMeter, type Table } from "./tables/table.ts";
import { type AnswerTally, answerTally } from "./talk/tally.ts";

/** Minimum batch size after the first items. */
const FEWEST = 8;
/** Maximum batch size, which limits the time of one transfer. */
const MOST = 8192;
/** A batch is emitted when it reaches this share of the earlier items, which limits repeated copying. */
const GROWTH = 1 / 4;

/**
 * Emits the new items of a growing list in growing batches, the first at once. A receiver that copies all n items at each
 * call copies at most 5 n items up to 32,768, and n² / 16,384 beyond.
 * @returns a function to call after the list has grown; with `all` it emits the rest
 */
export function handOut<T>(list: readonly T[], give: (added: readonly T[]) => void): (all?: boolean) => void {
  let given = 0;
  return (all = false) => {
    const enough = given === 0 ? 1 : Math.min(MOST, Math.max(FEWEST, given * GROWTH));
    if (list.length - given < enough && !all) return;
    while (given < list.length) {
      const added = list.slice(given, given + MOST);
      given += added.length;
      give(added);
    }
  };
}

/** An opened shard, for display. */
export interface ShardInfo {
  readonly name: string;
  readonly bytes: number;
  readonly rows: number;
  readonly batches: number;
  /** Columns with their types as text. */
  readonly schema: string;
  /** Name of the adapter; empty if the file is unusable. */
  readonly adapter: string;
  /** Column names by role; undefined if the file is unusable. */
  readonly roles?: { readonly image: string; readonly mask: string; readonly text: string };
  /** Columns and their parts by name, each of which can be assigned to a role. */
  readonly parts?: readonly string[];
  readonly split: string | undefined;
  /** The data set with these columns; undefined if the file could not be opened. */
  readonly layout?: Layout;
  /** How a file of records was recognised: its kind and the evidence; undefined for Arrow and Parquet. */
  readonly reason?: string;
}

/** A file without rows in the set. */
interface IgnoredFile {
  readonly name: string;
  readonly reason: string;
  /** The file's split, if it is ignored because another split is read. */
  readonly split?: string;
}

/** All regions of a folder of shards. The lists grow while the index is built. */
export interface RegionSet {
  readonly summaries: readonly RegionSummary[];
  readonly skipped: readonly SkippedRow[];
  readonly files: readonly ShardInfo[];
  readonly ignored: readonly IgnoredFile[];
  /** Description in dataset_info.json; empty if there is none. */
  readonly description: string;
  /** What became of the questions of conversations. */
  readonly answers: AnswerTally;
  /** Files that were read and belong to rows: tables, what lies beside them, and pictures. */
  readonly used: ReadonlySet<string>;
  /** The stored rows of an opened file. */
  table(file: string): Table | undefined;
  /**
   * The sample at an index of `summaries`; reads the bytes of its picture.
   * @throws LabError("bad-input") when there is no such sample, "storage" when the file can no longer be read
   */
  sample(index: number): Promise<RegionSample>;
  /** The bytes of one of `files`; undefined for another name. */
  source(name: string): ByteSource | undefined;
}

export interface RegionSetOptions {
  readonly signal?: AbortSignal;
  /** Columns named by the user in place of the detected ones. */
  readonly columns?: WantedColumns;
  /** Corrections by file, which replace those of the folder's mapping file. */
  readonly mapping?: DataMapping;
  /** Split to read where rows or file names give several; the training split by default. */
  readonly split?: string;
  /** Called about 200 times, and once per file, with the rows read and the rows known so far. */
  readonly onProgress?: (progress: {
    readonly file: string;
    readonly filesTotal: number;
    readonly rows: number;
    readonly totalRows: number;
    readonly samples: number;
  }) => void;
  /**
   * Receives new regions as they are found, so that the first rows appear early. The batches grow, which bounds the
   * work of a receiver that copies its whole list at every call.
   */
  readonly onRows?: (added: readonly RegionSummary[], set: RegionSet) => void;
}

/** Number of rows read concurrently, because reading mostly waits for bytes. */
const AT_ONCE = 4;
/** Work of a row besides reading it, in bytes. */
const ROW_WORK = 2 ** 17;
/** Minimum rows between two reports, and approximate maximum number of reports. */
const REPORT_EVERY = 16;
const MOST_REPORTS = 200;

interface Opened {
  /** Bytes of the file. */
  readonly bytes: number;
  readonly table: Table;
  readonly adapter: Adapter;
  readonly find: FindFile;
  readonly probe: (cell: unknown) => Promise<PictureProbe>;
}

/** Location of a sample's picture. */
interface Place {
  readonly opened: Opened;
  readonly picture: PictureProbe;
  readonly pictureIndex: number;
}

/**
 * Indexes every region of a folder. listShards chooses the shards, which are opened by their headers; each row is
 * checked by reading only the header and samples of its picture. Any error of a row or file ends in `skipped` with one
 * sentence; the other rows and files stay.
 * @throws LabError("cancelled") when the signal is aborted; nothing else for unexpected content
 */
export async function openRegionSet(dropped: ByteFolder, options: RegionSetOptions = {}): Promise<RegionSet> {
  const used = new Set<string>();
  return whileOpen(options.signal, (signal) => openAll(readUntil(signal, dropped, used), used, { ...options, signal }));
}

/**
 * The folder, of which nothing is read once the signal is aborted: every phase of every reader ends at its next read.
 * @param used receives the paths of files that are read
 */
function readUntil(signal: AbortSignal, folder: ByteFolder, used: Set<string>): ByteFolder {
  const known = new Map<string, ByteSource>();
  const get = (path: string): ByteSource | undefined => {
    const source = known.get(path) ?? folder.get(path);
    if (source === undefined || known.has(path)) return source;
    const read = async (start: number, end: number): ReturnType<ByteSource["read"]> => {
      if (signal.aborted) throw new LabError("cancelled", `reading ${source.name} was cancelled`);
      used.add(path);
      return source.read(start, end);
    };
    const own = { ...source, read };
    known.set(path, own);
    return own;
  };
  return { paths: folder.paths, get };
}

const MOUNT = PLUGIN_READERS.find(({ mount }) => mount !== undefined)?.mount;

/** A folder with its archives opened by a plug-in. @throws LabError("cancelled") when the signal aborts */
export async function openArchives(folder: ByteFolder, signal?: AbortSignal): Promise<MountedFolder> {
  return (await MOUNT?.(folder, signal)) ?? { folder, archives: new Set(), problems: [] };
}

async function openAll(dropped: ByteFolder, used: Set<string>, options: RegionSetOptions): Promise<RegionSet> {
  const pace = paced("reading the rows", options.signal);
  const mounted = await openArchives(dropped, options.signal);
  const { folder } = mounted;
  const { shards, ignored: others, problems } = await listShards(folder, whyLeft);
  const skipped: SkippedRow[] = [...mounted.problems, ...problems];
  const mapping =
    options.mapping ??
    (await readMapping(folder).catch((thrown: unknown): DataMapping => {
      const { code, message, subject } = toLabError(thrown);
      if (code === "cancelled") throw thrown;
      skipped.push({ file: subject ?? MAPPING_FILE, row: -1, column: "", reason: `${message}; it is not used` });
      return {};
    }));
  const found = await listTables(mounted, { ...options, mapping });
  skipped.push(...found.problems);
  // Files of records are read to see whether they hold rows.
  for (const { name } of found.ignored) if (!found.beside.has(name)) used.delete(name);
  for (const { path } of found.tables) used.add(path);
  const description = await readDescription(folder);
  const summaries: RegionSummary[] = [];
  if (shards.length === 0 && found.tables.length === 0 && skipped.length === 0) {
    const left = others.filter(({ name }) => whyLeft(name) !== undefined);
    skipped.push(oneLine(nothingFound(folder, [...left, ...found.ignored], MOUNT !== undefined)));
  }
  const splits = chooseSplits([...shards, ...found.tables], (path) => options.split ?? mappingOf(mapping, path).split);
  const otherSplit = [...splits.others].map(([name, split]) => ({ name, reason: `of the split ${split}`, split }));
  skipped.push(
    ...splits.problems.map(({ path, reason }) => ({
      file: options.split === undefined ? path : "",
      row: -1,
      column: "",
      reason,
    })),
  );
  const unread = new Set([...mounted.problems, ...found.problems].map(({ file }) => file));
  const ignored: IgnoredFile[] = [...otherSplit, ...leftOut(others, found, unread)].map(oneLine);
  const files: ShardInfo[] = [];
  const places: Place[] = [];
  const opened: { name: string; shard: Opened }[] = [];
  const answers = answerTally();
  const set: RegionSet = {
    summaries,
    skipped,
    files,
    ignored,
    description,
    answers,
    used,
    table: (file) => opened.find(({ name }) => name === file)?.shard.table,
    sample: async (index) => {
      const [summary, place] = [summaries[index], places[index]];
      if (summary === undefined || place === undefined) {
        throw badInput(`there is no sample ${index}, only ${summaries.length}`);
      }
      return readSample(summary, place);
    },
    source: (name) => (files.some((file) => file.name === name) ? folder.get(name) : undefined),
  };
  const findBeside = siblingsOf(folder);
  const chosen = [...shards, ...found.tables].filter(({ path }) => !splits.others.has(path));
  const filesTotal = chosen.length;
  for (const shard of chosen) {
    const source = folder.get(shard.path);
    const entry = await open(shard, source, { ...options, mapping }, { files, skipped, ignored });
    const inside = mounted.archives.has(shard.path) || source === undefined ? `${shard.path}/` : shard.path;
    if (entry === undefined || splits.refused.has(shard.path)) continue;
    const { clip, every } = entry.adapter;
    const find = findBeside(inside);
    const own = clip && every === undefined ? inOwnFolder(find) : find;
    opened.push({ name: shard.path, shard: { ...entry, find: own, probe: pictureProbes(own) } });
  }
  const totalRows = opened.reduce((sum, { shard }) => sum + shard.table.rows, 0);
  const reportEvery = Math.max(REPORT_EVERY, Math.ceil(totalRows / MOST_REPORTS));
  let rows = 0;
  const handOutRows = handOut(summaries, (added) => options.onRows?.(added, set));
  const report = (file: string): void => {
    handOutRows();
    options.onProgress?.({ file, filesTotal, rows, totalRows, samples: summaries.length });
  };
  const doubts = new Map<string, SetDoubts>();
  for (const [key, tables] of dataSets(opened)) doubts.set(key, doubtsOf(tables, pace));
  for (const { name, shard } of opened) {
    const { adapter, find, probe } = shard;
    const pass = passMeter(shard.bytes);
    const table: Table = { ...shard.table, cell: (column, at) => shard.table.cell(column, at, pass) };
    const context = { find, pass, probe, pace, doubts: doubts.get(dataSetOf(name, shard)) };
    const splits = await rowSplits(shard.table, options.split ?? mappingOf(mapping, name).split, pace);
    const others = new Map<string, number>();
    const readRow = async (at: number) => {
      const split = await splits?.other(at);
      return split ?? (await adaptRow(table, adapter, at, context));
    };
    let row = -1;
    for await (const read of inOrder(table.rows, AT_ONCE, readRow)) {
      row++;
      await pace(ROW_WORK);
      if ("thrown" in read) {
        // The file itself failed (moved, changed): the previous rows stay, the rest is skipped.
        if (!(read.thrown instanceof LabError) || read.thrown.code !== "storage") throw read.thrown;
        const reason = `${read.thrown.message}; rows from ${row} on are left out`;
        skipped.push({ file: name, row: -1, column: "", reason, lost: table.rows - row });
        break;
      }
      const adapted = read.value;
      if (typeof adapted === "string") {
        others.set(adapted, (others.get(adapted) ?? 0) + 1);
        rows++;
        continue;
      }
      for (const part of adapted.skipped) skipped.push(oneLine({ file: name, row, ...part }));
      answers.add(name, row, adapted.pairs ?? []);
      for (const region of adapted.regions) {
        const { mask, caption, questions, category, picture, pictureIndex, frames } = region;
        const { width, height, imageId } = picture;
        const summary: RegionSummary = {
          index: summaries.length,
          id: adapted.masks > 1 ? `${name}#${row}/${region.region}` : `${name}#${row}`,
          file: name,
          row,
          region: region.region,
          width,
          height,
          ...(frames === undefined ? {} : { frames }),
          caption,
          ...(questions === undefined ? {} : { questions }),
          category,
          maskShare: region.area / (width * height),
          mask,
          imageId,
        };
        summaries.push(summary);
        places.push({ opened: shard, picture, pictureIndex });
      }
      rows++;
      // The first row is shown at once.
      if (rows === 1 || rows % reportEvery === 0) report(name);
    }
    if (splits !== undefined && others.size > 0) {
      const counts = [...others].map(([split, count]) => `${count} of ${split}`).join(", ");
      ignored.push({ name, reason: `rows of other splits by the column ${splits.column} are left out: ${counts}` });
    }
    report(name);
  }
  for (const [key, own] of doubts) {
    const name = opened.find(({ name, shard }) => dataSetOf(name, shard) === key)?.name ?? "";
    for (const reason of await own.notes()) ignored.push(oneLine({ name, reason }));
  }
  handOutRows(true);
  return set;
}

/** A reason may quote names of any length. */
function oneLine<T extends { readonly reason: string }>(told: T): T {
  return { ...told, reason: shortened(told.reason, LONGEST_SENTENCE) };
}

/** The data set of a shard: files with the same columns in one directory. */
function dataSetOf(name: string, { table }: Opened): string {
  return `${directoryOf(name)}: ${schemaText(table.columns)}`;
}

/** The tables whose rows decide the doubts of each data set. */
function dataSets(opened: readonly { readonly name: string; readonly shard: Opened }[]): Map<string, Opened[]> {
  const sets = new Map<string, Opened[]>();
  for (const { name, shard } of opened) addTo(sets, dataSetOf(name, shard), shard);
  return sets;
}

/** Opens one shard and chooses its adapter; problems of the whole file become one skipped entry. */
async function open(
  shard: ShardPath | FoundTable,
  source: ByteSource | undefined,
  options: RegionSetOptions & { readonly mapping: DataMapping },
  { files, skipped, ignored }: { files: ShardInfo[]; skipped: SkippedRow[]; ignored: IgnoredFile[] },
): Promise<Omit<Opened, "find" | "probe"> | undefined> {
  const { path, split = namedSplit(path) } = shard;
  const whole = (reason: string): void => {
    skipped.push(oneLine({ file: path, row: -1, column: "", reason }));
  };
  const records = "table" in shard ? shard : undefined;
  const bytes = records?.bytes ?? source?.size ?? 0;
  const info = { name: path, bytes, split, ...(records === undefined ? {} : { reason: records.reason }) };
  try {
    const table = records?.table ?? (await openTable(source as ByteSource, options.signal));
    const { problem, columns, rows, batches } = table;
    if (problem !== undefined) whole(problem);
    const said = mappingOf(options.mapping, path);
    const { adapter, notes } = await chooseByValues(table, { ...said, ...named(options.columns) });
    for (const reason of notes) ignored.push(oneLine({ name: path, reason }));
    const parts = partNames(columns);
    const shown = { ...info, rows, batches, schema: schemaText(columns), layout: layoutOf(columns), parts };
    if (typeof adapter !== "string") {
      const { image, mask, text } = adapter;
      const roles = { image: image.name, mask: mask.name, text: text.name };
      files.push({ ...shown, adapter: adapter.name, roles });
      const every = adapter.every === undefined ? {} : { every: everyOf(said, table.every ?? 1) };
      return { bytes, table, adapter: { ...adapter, ...every } };
    }
    files.push({ ...shown, adapter: "" });
    whole(`${path} has ${adapter}`);
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === "cancelled") throw thrown;
    files.push({ ...info, rows: 0, batches: 0, schema: "", adapter: "" });
    whole(toLabError(thrown).message);
  }
  return undefined;
}

/** The columns that are assigned; undefined entries are dropped. */
function named(columns: WantedColumns = {}): WantedColumns {
  return Object.fromEntries(Object.entries(columns).filter(([, column]) => column !== undefined));
}

/** Files without rows, except parts of samples and tables. */
function leftOut(
  others: RegionSet["ignored"],
  { tables, ignored, inSamples }: TableList,
  told: ReadonlySet<string>,
): readonly IgnoredFile[] {
  const known = new Set([...tables.map(({ path }) => path), ...ignored.map(({ name }) => name)]);
  // Records are listed before pictures, of which there may be thousands.
  return [...ignored, ...others.filter(({ name }) => !known.has(name) && !inSamples.has(name) && !told.has(name))];
}

async function readSample(summary: RegionSummary, { opened, picture, pictureIndex }: Place): Promise<RegionSample> {
  const { table, adapter, find } = opened;
  const cells = await picturesOf(await rowParts(table, summary.row)(adapter.image), adapter, find);
  const { width, height, orientation } = picture;
  const { frames: total = 1 } = summary;
  const read = async (cell: unknown): Promise<EncodedImage> => {
    const bytes = pictureBytes(cell, find);
    const whole = (await bytes.read(0, bytes.length)) as Uint8Array<ArrayBuffer>;
    // Frames of a clip may differ in their format.
    const { mime } = total === 1 ? picture : await readImageHeader(bytes);
    return { bytes: whole, mime, width, height: height / total, orientation };
  };
  const image = await read(cells[pictureIndex]);
  const frames: EncodedImage[] = [image];
  for (const cell of cells.slice(1, total)) frames.push(await read(cell));
  return {
    id: summary.id,
    image,
    ...(summary.frames === undefined ? {} : { frames }),
    mask: summary.mask,
    caption: summary.caption,
    category: summary.category,
    imageId: summary.imageId,
  };
}

// Chooses between columns of one role by the values in their rows: an empty column does not win by its name.

/** Rows that are inspected, spread over the table. */
const INSPECTED = 8;
const ROLES = ["image", "mask", "text", "category"] as const;

/** An adapter, and a sentence for each column that gave way to another. */
interface ChosenAdapter {
  readonly adapter: Adapter | string;
  readonly notes: readonly string[];
}

/**
 * The adapter of a table. Where another column can have a role, the one that comes first by name keeps it unless it has
 * values in less than half as many of the inspected rows.
 * @param wanted columns that the user names, which are kept in any case
 * @throws LabError("storage" | "cancelled") as reading cells does
 */
export async function chooseByValues(table: Table, wanted: WantedColumns): Promise<ChosenAdapter> {
  const { columns, rows } = table;
  const counts = new Map<string, Promise<number>>();
  const count = (role: Role): Promise<number> => {
    const known = counts.get(role.name) ?? filledRows(table, role);
    counts.set(role.name, known);
    return known;
  };
  const notes: string[] = [];
  const without: string[] = [];
  let adapter = chooseAdapter(columns, wanted);
  const seen = Math.min(INSPECTED, rows);
  for (const part of ROLES) {
    // The next candidates in order of their names, the first of which is the chosen one.
    let chosen = typeof adapter === "string" ? undefined : adapter[part];
    const passed: string[] = [];
    while (typeof adapter !== "string" && chosen !== undefined && !Object.values(wanted).includes(chosen.name)) {
      passed.push(chosen.name);
      const other = chooseAdapter(columns, wanted, [...without, ...passed]);
      const next = typeof other === "string" ? undefined : other[part];
      if (typeof other === "string" || next === undefined) break;
      const [own, its] = [await count(adapter[part] as Role), await count(next)];
      if (2 * own < its) {
        notes.push(
          `the column ${adapter[part]?.name} has values in ${own} of ${seen} inspected rows, ${next.name} in ${its}, so ${next.name} is the ${part}`,
        );
        without.push(...passed);
        adapter = other;
      }
      chosen = next;
    }
  }
  return { adapter, notes };
}

/** Inspected rows in which a part has a value; an unreadable value is none. */
async function filledRows(table: Table, role: Role): Promise<number> {
  const { rows } = table;
  const inspected = Math.min(INSPECTED, rows);
  let filled = 0;
  for (let at = 0; at < inspected; at++) {
    const row = inspected === 1 ? 0 : Math.floor((at * (rows - 1)) / (inspected - 1));
    try {
      if (isFilled(await rowParts(table, row)(role))) filled++;
    } catch (thrown) {
      if (!(thrown instanceof LabError) || thrown.code === "storage" || thrown.code === "cancelled") throw thrown;
    }
  }
  return filled;
}

/** Whether there is a value: not null, blank or empty, nor a list or struct of nothing else. */
function isFilled(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object") return true;
  if (isBinaryCell(value)) return value.length > 0;
  return (Array.isArray(value) ? (value as unknown[]) : Object.values(value)).some(isFilled);
}
