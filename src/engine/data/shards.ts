import { addTo } from "../bytes/collections.ts";
import { isRecord, readJson } from "../bytes/json.ts";
import { type ByteFolder, directoryOf } from "../bytes/source.ts";
import { plainLine, shortened } from "../errors.ts";
import type { SkippedRow } from "./sample.ts";
import { ARCHIVE } from "./siblings.ts";
import { isMappingFile } from "./tables/mapping.ts";

/** A used file, with the split of its directory. */
export interface ShardPath {
  readonly path: string;
  readonly split: string | undefined;
}

/** The shards among a folder's files, and why the others are not shards. */
interface ShardList {
  readonly shards: readonly ShardPath[];
  readonly ignored: readonly { readonly name: string; readonly reason: string }[];
  readonly problems: readonly SkippedRow[];
}

const collator = new Intl.Collator("en", { numeric: true });
/** Natural order of names: 2 before 10. */
export const byName = (a: string, b: string): number => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);

/**
 * Chooses the shards of a dropped folder. In a directory with a `state.json` its file list decides. Otherwise every
 * Arrow and Parquet file counts, sorted by name, except the leftovers `cache-*.arrow` and `indices.arrow`. Directories
 * follow in natural order (Part2 before Part10); the splits of a `dataset_dict.json` are directories.
 * @param whyLeft why a file is left unread for its name; undefined if it is not
 */
export async function listShards(
  folder: ByteFolder,
  whyLeft: (path: string) => string | undefined,
): Promise<ShardList> {
  const shards: ShardPath[] = [];
  const ignored: { name: string; reason: string }[] = [];
  const problems: SkippedRow[] = [];
  const directories = new Map<string, string[]>();
  for (const path of folder.paths) addTo(directories, directoryOf(path), path);
  const splits = await readSplits(folder);
  const listedIn = new Set<string>();
  for (const directory of [...directories.keys()].sort(byName)) {
    const paths = directories.get(directory) ?? [];
    const listed = await readState(folder, directory, problems);
    if (listed !== undefined) listedIn.add(directory);
    const present = listed?.filter((path) => folder.get(path) !== undefined);
    // A list whose files are all missing belongs to other files, so the names decide.
    const chosen = new Set(
      present !== undefined && present.length > 0
        ? present
        : paths.filter((path) => isData(path) && whyLeft(path) === undefined).sort(byName),
    );
    const missing =
      present !== undefined && present.length > 0 ? (listed ?? []).filter((path) => !chosen.has(path)) : [];
    if (missing.length > 0) {
      const reason = `${missing.length} of the ${listed?.length} shards named in state.json are not here (first: ${missing[0]})`;
      problems.push({ file: `${directory}state.json`, row: -1, column: "", reason });
    }
    for (const path of chosen) shards.push({ path, split: splits.get(directory) });
    for (const path of paths) {
      if (chosen.has(path)) continue;
      ignored.push({ name: path, reason: whyLeft(path) ?? whyIgnored(path, present !== undefined) });
    }
  }
  return { shards, ignored, problems: [...problems, ...missingShards(folder, listedIn)] };
}

/** Names of shards that state their number: `train-00001-of-00003.parquet`. */
const NUMBERED = /^(.*?)-?(\d{3,})-of-(\d{3,})(?=\.\w+$)/;

/** A remark for each set of numbered shards of which some are not here. */
function missingShards(folder: ByteFolder, listed: ReadonlySet<string>): SkippedRow[] {
  const sets = new Map<string, { readonly first: string; readonly total: number; readonly here: Set<number> }>();
  for (const path of folder.paths) {
    const [, name, number, total] = NUMBERED.exec(path) ?? [];
    const end = path.slice(path.lastIndexOf("."));
    if (name === undefined || listed.has(directoryOf(path)) || !HOLDS_ROWS.test(end)) continue;
    const key = `${name} ${total} ${end}`;
    const set = sets.get(key) ?? { first: path, total: Number(total), here: new Set() };
    sets.set(key, set);
    set.here.add(Number(number));
  }
  return [...sets.values()].flatMap(({ first, total, here }) => {
    if (here.size >= total) return [];
    const [are, rows] = here.size === 1 ? ["is", "its rows are"] : ["are", "their rows are"];
    const reason = `${here.size} of ${total} shards ${are} here, by their names; ${rows} all that is read`;
    return [{ file: first, row: -1, column: "", reason, lost: 0 }];
  });
}

/** Maximum characters of the endings of files in a sentence. */
const LONGEST_KINDS = 100;

/** Description of the content of a folder without rows. @param archives whether this build opens archives */
export function nothingFound(
  folder: ByteFolder,
  unused: readonly { readonly name: string; readonly reason: string }[],
  archives: boolean,
): SkippedRow {
  const [first] = unused;
  const because = (reason: string): SkippedRow => ({ file: "", row: -1, column: "", reason });
  if (first !== undefined) return because(`${first.name} has ${first.reason}`);
  // An opened archive is a directory.
  const paths = folder.paths.filter((path) => !archives || !ARCHIVE.test(path));
  const endings = new Set(paths.map((path) => path.slice(path.lastIndexOf("."))));
  const kinds = shortened([...endings].slice(0, 5).join(", "), LONGEST_KINDS);
  const { length } = paths;
  const found =
    length === 0
      ? "the folder is empty"
      : length === 1
        ? `1 file of another kind (${kinds})`
        : `${length} files of other kinds (${kinds})`;
  const shards = archives ? "Arrow, Parquet, JSON, refs, tar or zip shards" : "Arrow, Parquet or JSON shards";
  return because(`there is no file of rows (${shards}): ${found}`);
}

const HOLDS_ROWS = /\.(arrow|arrows|feather|ipc|parquet|pq|jsonl?|ndjson|tar|zip)$/i;
/** Extensions of shards; their format is detected from the content. */
const SHARD = /\.(arrow|arrows|feather|ipc|parquet|pq)$/i;
const PICTURE = /\.(jpe?g|png|webp|gif|bmp|tiff?)$/i;

function isData(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return SHARD.test(name) && !name.startsWith("cache-") && name !== "indices.arrow";
}

function whyIgnored(path: string, hasList: boolean): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (SHARD.test(name))
    return hasList ? "not listed in state.json" : "a leftover of map or shuffle, not part of the data";
  if (name === "state.json" || name === "dataset_info.json" || name === "dataset_dict.json")
    return "describes the shards";
  if (isMappingFile(name)) return "names the columns of the files";
  if (PICTURE.test(name)) return "a picture, read if a row names it";
  if (ARCHIVE.test(name)) return "an archive, opened as a directory";
  if (/\.(csv|tsv)$/i.test(name)) return "a table as text; write its rows as Parquet or JSON lines";
  if (/\.(gz|tgz|bz2|xz|zst|7z|rar)$/i.test(name)) return "compressed as a whole; unpack it";
  return "not of a kind that holds rows";
}

/** Paths listed in a directory's state.json; undefined if it is missing or empty. */
async function readState(folder: ByteFolder, directory: string, problems: SkippedRow[]): Promise<string[] | undefined> {
  const source = folder.get(`${directory}state.json`);
  if (source === undefined) return undefined;
  try {
    const json = await readJson(source);
    const files = isRecord(json) ? json._data_files : undefined;
    if (!Array.isArray(files)) return undefined;
    const names = files.map((file) => (isRecord(file) ? file.filename : undefined));
    const listed = names.filter((name): name is string => typeof name === "string").map((name) => directory + name);
    return listed.length === 0 ? undefined : listed;
  } catch (thrown) {
    const reason = `${(thrown as Error).message}; the shards next to it are chosen by name`;
    problems.push({ file: `${directory}state.json`, row: -1, column: "", reason });
    return undefined;
  }
}

/** Directory to split name, from every dataset_dict.json. If a file is damaged, only its names are lost. */
async function readSplits(folder: ByteFolder): Promise<Map<string, string>> {
  const splits = new Map<string, string>();
  for (const path of folder.paths) {
    const source = path.endsWith("dataset_dict.json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    const json: unknown = await readJson(source).catch(() => undefined);
    const names = isRecord(json) && Array.isArray(json.splits) ? json.splits : [];
    const base = directoryOf(path);
    for (const name of names) if (typeof name === "string") splits.set(`${base}${name}/`, name);
  }
  return splits;
}

/** Maximum characters of a description. */
const LONGEST_DESCRIPTION = 120;

/** First sentence of the description in the folder's first dataset_info.json; empty when there is none. */
export async function readDescription(folder: ByteFolder): Promise<string> {
  const path = folder.paths.find((name) => /(^|\/)dataset_info\.json$/.test(name));
  const source = path === undefined ? undefined : folder.get(path);
  // If the file is damaged, only the description is lost.
  const json: unknown = source === undefined ? undefined : await readJson(source).catch(() => undefined);
  const text = isRecord(json) && typeof json.description === "string" ? plainLine(json.description) : "";
  return shortened(/^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, LONGEST_DESCRIPTION);
}
