/**
 * The user's corrections to detected columns, stored next to the files as `data-mapping.json`:
 * `{"files": {"<path>": {"image": "…", "mask": "…", "text": "…", "split": "…", "every": "…"}, "*": {…}}}`. Absent parts
 * are detected as usual; `*` is for files without an entry that are next to or below the mapping file.
 */
import { isRecord, readJson } from "../../bytes/json.ts";
import { type ByteFolder, type ByteSource, directoryOf } from "../../bytes/source.ts";
import { badInput, type LabError, quote } from "../../errors.ts";
import type { WantedColumns } from "./schema.ts";

/** The user's corrections for a file: its columns, and the split to read. */
export interface FileMapping extends WantedColumns {
  readonly split?: string | undefined;
  /** For videos: reads every k-th frame; k as text. */
  readonly every?: string | undefined;
}

/** Corrections by path, or by a directory's path and `*`. */
export type DataMapping = Readonly<Record<string, FileMapping>>;

export const MAPPING_FILE = "data-mapping.json";
const PARTS = ["image", "mask", "text", "split", "every"] as const;
/** Maximum distance between two frames that are read. */
const MOST_EVERY = 1000;

export function isMappingFile(path: string): boolean {
  return path === MAPPING_FILE || path.endsWith(`/${MAPPING_FILE}`);
}

/** The corrections of a file: its entry, else the nearest `*`. */
export function mappingOf(mapping: DataMapping, path: string): FileMapping {
  const above = path.split("/").map((_, at, parts) => [...parts.slice(0, at), "*"].join("/"));
  const key = [path, ...above.reverse()].find((one) => Object.hasOwn(mapping, one));
  return (key === undefined ? undefined : mapping[key]) ?? {};
}

/**
 * Distance between two frames of a video that are read.
 * @param known distance of the format
 * @throws LabError("bad-input")
 */
export function everyOf({ every }: FileMapping, known: number): number {
  if (every === undefined) return known;
  const number = Number(every);
  if (Number.isInteger(number) && number >= 1 && number <= MOST_EVERY) return number;
  throw badInput(`"every" is ${quote(every)}, it must be a whole number from 1 to ${MOST_EVERY}`);
}

export function mappingText(files: DataMapping): string {
  return `${JSON.stringify({ files }, null, 2)}\n`;
}

/**
 * The corrections from all mapping files of a folder.
 * @throws LabError("bad-input") when a file has another form
 */
export async function readMapping(folder: ByteFolder): Promise<DataMapping> {
  const all: Record<string, FileMapping> = {};
  for (const path of folder.paths.filter(isMappingFile)) {
    Object.assign(all, await readMappingFile(path, folder.get(path) as ByteSource));
  }
  return all;
}

async function readMappingFile(path: string, source: ByteSource): Promise<DataMapping> {
  const json = await readJson(source);
  const bad = (what: string): LabError => badInput(`${path} ${what}`, path);
  if (!isRecord(json) || !isRecord(json.files)) throw bad("has no object of files");
  const directory = directoryOf(path);
  return Object.fromEntries(
    Object.entries(json.files).map(([name, value]) => {
      if (!isRecord(value)) throw bad(`has no columns for ${name}`);
      const parts = PARTS.flatMap((part) => (value[part] === undefined ? [] : [[part, value[part]] as const]));
      const wrong = parts.find(([, column]) => typeof column !== "string");
      if (wrong !== undefined) throw bad(`names no column for the ${wrong[0]} of ${name}`);
      return [directory + name, Object.fromEntries(parts) as FileMapping];
    }),
  );
}
