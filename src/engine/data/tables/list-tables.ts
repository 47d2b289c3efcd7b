/**
 * Finds the files of a folder that hold rows in formats other than Arrow and Parquet: records, and samples in tar
 * shards or directories.
 */

import { PLUGIN_READERS } from "../../../plugins/readers.ts";
import { addTo } from "../../bytes/collections.ts";
import { readJson } from "../../bytes/json.ts";
import { paced } from "../../bytes/pace.ts";
import { type ByteFolder, type ByteSource, directoryOf, refusePointer } from "../../bytes/source.ts";
import { badInput, LONGEST_SENTENCE, shortened, toLabError } from "../../errors.ts";
import { recogniseRecords } from "../readers/all.ts";
import { column, type MountedFolder, type ReadTable, type Sample, type Sign, signOf, TEXT } from "../readers/reader.ts";
import { fieldsText } from "../readers/rows.ts";
import { recogniseSamples, samplesOf, sampleTable } from "../readers/samples.ts";
import { openRecords, type Records, unlessDamaged } from "../records/records.ts";
import type { SkippedRow } from "../sample.ts";
import { ARCHIVE } from "../siblings.ts";
import { type DataMapping, mappingOf } from "./mapping.ts";
import { rolesFound } from "./schema.ts";
import type { Table } from "./table.ts";

/** A table and how it was recognised. */
export interface FoundTable {
  /** Path of the file, or of the archive or directory of samples. */
  readonly path: string;
  /** Total size of all files that it is read from. */
  readonly bytes: number;
  readonly table: Table;
  /** Short name of the kind, such as `coco-instances`. */
  readonly label: string;
  /** For display: the kind and the evidence for it. */
  readonly reason: string;
  readonly split: string | undefined;
  /** All splits that the rows name; undefined if they name none. */
  readonly splits?: readonly string[] | undefined;
}

/** All tables of a folder that are not Arrow or Parquet. */
export interface TableList {
  readonly tables: readonly FoundTable[];
  /** Files without rows, with the reason. */
  readonly ignored: readonly { readonly name: string; readonly reason: string }[];
  readonly problems: readonly SkippedRow[];
  /** Files that belong to samples. */
  readonly inSamples: ReadonlySet<string>;
  /** Files that were read with a table. */
  readonly beside: ReadonlySet<string>;
}

/** Files of records, recognised by name. */
export const RECORDS = /\.(json|jsonl|ndjson|p|pkl|pickle)$/i;
const DESCRIBES = /(^|\/)(state|dataset_info|dataset_dict|files|data-mapping)\.json$/;
/** Work of opening a file or a set of samples besides reading it, in bytes. */
const FILE_WORK = 2 ** 18;
/** Maximum number of files of records that are inspected; a folder with more is not a data set. */
const MOST_FILES = 4096;

/**
 * Opens every file of records and every set of samples. A file that cannot be read is a problem, never an error.
 * @param split split of files that name splits; "train" if absent
 * @throws LabError("cancelled") when the signal aborts
 */
export async function listTables(
  { folder, archives }: Pick<MountedFolder, "folder" | "archives">,
  options: {
    readonly split?: string | undefined;
    readonly mapping?: DataMapping;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<TableList> {
  const tables: FoundTable[] = [];
  const ignored: { name: string; reason: string }[] = [];
  const problems: SkippedRow[] = [];
  const groups = sampleGroups(folder, archives);
  const inSamples = new Set([...groups.values()].flatMap(({ samples }) => samples.flatMap(filesOf)));
  const used = new Map<string, string>();
  const read: ReadFile[] = [];
  const problem = (path: string, thrown: unknown): void => {
    const error = toLabError(thrown);
    if (error.code === "cancelled") throw error;
    problems.push({ file: path, row: -1, column: "", reason: shortened(error.message, LONGEST_SENTENCE) });
  };
  const files = folder.paths.filter((path) => RECORDS.test(path) && !DESCRIBES.test(path) && !inSamples.has(path));
  // Refs first, because the instances next to them belong to the refs and are not separate rows.
  files.sort(
    (a, b) =>
      Number(/\.json$/i.test(a)) - Number(/\.json$/i.test(b)) || Number(isInstances(a)) - Number(isInstances(b)),
  );
  if (files.length > MOST_FILES) {
    const reason = `there are ${files.length} files of records; only the first ${MOST_FILES} are examined, so the rows of the others are left out`;
    problems.push({ file: "", row: -1, column: "", reason });
  }
  const pace = paced("reading the folder", options.signal);
  for (const path of files.slice(0, MOST_FILES)) {
    await pace(FILE_WORK);
    const owner = used.get(path);
    if (owner !== undefined) {
      ignored.push({ name: path, reason: `read with ${owner}` });
      continue;
    }
    try {
      const source = folder.get(path) as ByteSource;
      const split = options.split ?? mappingOf(options.mapping ?? {}, path).split;
      const found = await openFile(source, path, folder, { split, signal: options.signal });
      if ("ignored" in found) {
        ignored.push({ name: path, reason: found.ignored });
        continue;
      }
      const twin = read.findIndex((other) => sameRefs(other, found));
      const before = read[twin];
      if (before === undefined) read.push(found);
      else {
        const [kept, left] = before.partition?.byPicture === false ? [found, before] : [before, found];
        read[twin] = kept;
        ignored.push({ name: left.table.path, reason: `holds the refs of ${kept.table.path} in another partition` });
      }
      for (const other of found.used ?? []) used.set(other, (read[twin] ?? found).table.path);
    } catch (thrown) {
      problem(path, thrown);
    }
  }
  for (const { table, notes = [], left = [] } of read) {
    tables.push(table);
    for (const one of left) problems.push({ file: table.path, row: -1, column: "", ...one });
    for (const note of notes) ignored.push({ name: table.path, reason: note });
  }
  for (const [path, { samples, reason, archive }] of groups) {
    await pace(FILE_WORK);
    const owner = read.find(({ ownsArchives, table }) => ownsArchives && path.startsWith(directoryOf(table.path)));
    if (owner !== undefined && archive) {
      ignored.push({ name: path, reason: `pictures of ${owner.table.path}` });
      continue;
    }
    try {
      const known = await openKnown(folder, samples);
      const table = known?.table ?? (await sampleTable(folder, samples));
      const bytes = samples.flatMap(filesOf).reduce((sum, file) => sum + (folder.get(file)?.size ?? 0), 0);
      const { label, what } = known ?? { label: archive ? "webdataset" : "samples", what: "samples" };
      tables.push({ path, bytes, table, label, reason: `${what}: ${reason}`, split: undefined });
    } catch (thrown) {
      problem(path, thrown);
    }
  }
  const told = ignored.map(({ name, reason }) => ({ name, reason: shortened(reason, LONGEST_SENTENCE) }));
  return { tables, ignored: told, problems, inSamples, beside: new Set(used.keys()) };
}

/** The table of the first reader of a plug-in that knows the samples. */
async function openKnown(folder: ByteFolder, samples: readonly Sample[]) {
  for (const { label, what, open } of PLUGIN_READERS.flatMap((plugin) => plugin.samples)) {
    const table = await open(folder, samples);
    if (table !== undefined) return { label, what, table };
  }
  return undefined;
}

/** A file of records with rows. */
interface ReadFile extends Omit<ReadTable, "table"> {
  readonly table: FoundTable;
}

/** Whether two files contain refs of the same instances: most refs of the smaller file are in both. */
function sameRefs(a: ReadFile, b: ReadFile): boolean {
  if (a.partition === undefined || b.partition === undefined || a.used?.join() !== b.used?.join()) return false;
  const [one, two] = [a.partition.refs, b.partition.refs];
  return 2 * [...one].filter((ref) => two.has(ref)).length > Math.min(one.size, two.size);
}

/** Why a file is left unread for its name; undefined if it is not. */
export function whyLeft(path: string): string | undefined {
  return PLUGIN_READERS.flatMap(({ leaves }) => leaves).find((one) => one.path.test(path))?.reason;
}

async function openFile(
  source: ByteSource,
  path: string,
  folder: ByteFolder,
  { split, signal }: { readonly split?: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<{ readonly ignored: string } | ReadFile> {
  await refusePointer(source);
  const left = whyLeft(path);
  if (left !== undefined) return { ignored: left };
  const top = await openRecords(source, signal);
  if (top === undefined || top.length === 0) {
    if (top?.problem !== undefined) throw badInput(top.problem, path);
    if (source.size <= MOST_PARSED) await readJson(source);
    return { ignored: "records without content" };
  }
  const outer = await signOf(top);
  const whole = recogniseRecords(outer);
  const inner = whole === undefined ? await listInside(top) : undefined;
  const { records, sign } = inner ?? { records: top, sign: outer };
  const found = whole ?? recogniseRecords(sign);
  if (found === undefined) {
    // Without a readable item, the error of the first one says more.
    if (outer.shape !== "object" && outer.first === undefined) await top.item(0);
    const known = rolesFound(outer.keys.map((key) => column(key, TEXT))).length === 3;
    const hint = known ? "; write one object per row, in a list or on lines" : "";
    return { ignored: `records of an unknown kind; their fields are ${fieldsText(outer)}${hint}` };
  }
  const { reader, reason } = found;
  if (typeof reader.open === "string") return { ignored: `${reader.what} (${reason}): ${reader.open}` };
  const read = await reader.open({ records, sign, path, folder, split, signal });
  const table: FoundTable = {
    path,
    bytes: [path, ...(read.used ?? [])].reduce((sum, file) => sum + (folder.get(file)?.size ?? 0), 0),
    table: read.table,
    label: reader.label,
    reason: `${reader.what}: ${reason}`,
    split: read.split,
    splits: read.splits,
  };
  return { ...read, table };
}

/** The only list of objects in an object, such as `{"version": …, "data": [rows]}`; undefined for none and for several. */
async function listInside(top: Records): Promise<{ readonly records: Records; readonly sign: Sign } | undefined> {
  if (top.shape !== "object" || top.length > MOST_KEYS) return undefined;
  const found: { readonly records: Records; readonly sign: Sign }[] = [];
  for (const place of top.keys.keys()) {
    const records = await unlessDamaged(() => top.inside(place));
    if (records?.shape !== "list") continue;
    const sign = await signOf(records);
    if (sign.first !== undefined) found.push({ records, sign });
  }
  return found.length === 1 ? found[0] : undefined;
}

/** Maximum bytes of a file without records that is parsed for the cause. */
const MOST_PARSED = 2 ** 24;
/** Maximum keys of an object around a list of rows. */
const MOST_KEYS = 64;

interface Group {
  readonly samples: readonly Sample[];
  readonly reason: string;
  readonly archive: boolean;
}

/** Samples by their archive or directory. */
function sampleGroups(folder: ByteFolder, archives: ReadonlySet<string>): Map<string, Group> {
  const byRoot = new Map<string, string[]>();
  for (const path of folder.paths) {
    const root = archiveOf(path, archives) ?? path.slice(0, Math.max(0, path.lastIndexOf("/")));
    addTo(byRoot, root, path);
  }
  const groups = new Map<string, Group>();
  for (const [root, paths] of byRoot) {
    const samples = samplesOf(paths);
    const reason = recogniseSamples(samples);
    if (reason !== undefined) groups.set(root === "" ? "." : root, { samples, reason, archive: archives.has(root) });
  }
  return groups;
}

/** Whether the part of a path before `end` is named like an archive; a slice of every part would cost more. */
function isArchive(path: string, end: number): boolean {
  return ARCHIVE.test(path.slice(Math.max(0, end - 4), end));
}

function archiveOf(path: string, archives: ReadonlySet<string>): string | undefined {
  if (archives.size === 0) return undefined;
  // The innermost of nested archives.
  for (let end = path.lastIndexOf("/"); end >= 0; end = path.lastIndexOf("/", end - 1)) {
    if (isArchive(path, end) && archives.has(path.slice(0, end))) return path.slice(0, end);
    if (end === 0) break;
  }
  return undefined;
}

/** The files that a sample uses: all files of its key, if there are several. */
function filesOf({ fields }: Sample): string[] {
  return fields.size > 1 ? [...fields.values()] : [];
}

function isInstances(path: string): boolean {
  return /instances/i.test(path);
}
