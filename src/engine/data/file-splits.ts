/**
 * Splits of files by their names, with the words of the `datasets` library and of RefCOCO. Where a directory has files of the training
 * split, its files of other splits are not trained on. Where the user names a split, no file of another one is read.
 */

import type { Pace } from "../bytes/pace.ts";
import { quote } from "../errors.ts";
import type { Table } from "./tables/table.ts";

const WORDS: Readonly<Record<string, readonly string[]>> = {
  train: ["train", "training"],
  validation: ["validation", "valid", "val", "dev"],
  test: ["test", "testing", "eval", "evaluation"],
  testA: ["testa"],
  testB: ["testb"],
};
/** A word of a split between separators; digits separate too, as in `val2017`. */
const NAMED = new RegExp(`(?<=^|[^a-z])(${Object.values(WORDS).flat().join("|")})(?=$|[^a-z])`, "gi");

const splitOfWord = (word: string): string | undefined =>
  Object.keys(WORDS).find((split) => WORDS[split]?.includes(word.toLowerCase()));

/** The split that a path names last; undefined for none. */
export function namedSplit(path: string): string | undefined {
  return placeOf({ path })?.split;
}

/**
 * Whether a split is the wanted one, by any of its words and with the rules of RefCOCO's loader: "test" matches every split with that
 * word in its name, "testA" every split with that letter.
 */
export function inSplit(split: string, wanted: string): boolean {
  const [own, want] = [split, wanted].map((name) => namedSplit(name) ?? name) as [string, string];
  if (want === "test") return own.includes("test");
  const letter = /^test([A-Z])$/.exec(want)?.[1];
  return letter === undefined ? own === want : own.includes(letter);
}

/** A file of rows. */
interface SplitFile {
  readonly path: string;
  /** Its split, where another file states it. */
  readonly split?: string | undefined;
  /** All splits that its own rows name, of which it has chosen one. */
  readonly splits?: readonly string[] | undefined;
}

/** Why nothing of a wanted split can be read, or that there are no splits; undefined if there is the split. */
export function missingSplit(splits: readonly string[], wanted: string): string | undefined {
  if (splits.length === 0)
    return `no file has splits, so the rows of all files are read, not only those of ${quote(wanted)}`;
  if (splits.some((split) => inSplit(split, wanted))) return undefined;
  return `there is no split ${quote(wanted)}, only ${[...new Set(splits)].join(", ")}; nothing is read`;
}

/** The split of a file, and the directory that has it; words of splits in the directory's own name do not count. */
function placeOf({
  path,
  split: stated,
}: SplitFile): { readonly split: string; readonly directory: string } | undefined {
  if (stated !== undefined) return { split: stated, directory: path.replace(/[^/]*\/[^/]*$/, "").replace(NAMED, "*") };
  const last = [...path.matchAll(NAMED)].at(-1);
  const split = splitOfWord(last?.[0] ?? "");
  if (last === undefined || split === undefined) return undefined;
  return { split, directory: path.slice(0, path.lastIndexOf("/", last.index) + 1).replace(NAMED, "*") };
}

/** The files of a folder by their splits. */
interface SplitChoice {
  /** The split of each file to leave out, by its path. */
  readonly others: ReadonlyMap<string, string>;
  /** Paths of files of which the user wants a split that does not exist. */
  readonly refused: ReadonlySet<string>;
  /** A sentence for each wanted split that does not exist, with the first file of which it is wanted. */
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Files to leave out: they name another split than the one wanted of them, or if none is, another than the usual one, of which the same
 * directory has files.
 * @param wantedOf the split that the user wants of a file
 */
export function chooseSplits(
  files: readonly SplitFile[],
  wantedOf: (path: string) => string | undefined = () => undefined,
): SplitChoice {
  const splits = files.flatMap((file) => file.splits ?? file.split ?? namedSplit(file.path) ?? []);
  const reasons = new Map<string, { readonly path: string; readonly reason: string }>();
  const refused = new Set<string>();
  const wanted = new Map<string, string>();
  const named = files.filter((file) => file.splits === undefined);
  for (const { path } of named) {
    const split = wantedOf(path);
    if (split === undefined) continue;
    const reason = missingSplit(splits, split);
    if (reason === undefined) wanted.set(path, split);
    else if (!reasons.has(split)) reasons.set(split, { path, reason });
    if (reason !== undefined && splits.length > 0) refused.add(path);
  }
  const places = named.flatMap((file) => {
    const place = refused.has(file.path) ? undefined : placeOf(file);
    return place === undefined ? [] : [{ path: file.path, ...place }];
  });
  const [usual = "train"] = wanted.values();
  const complete = new Set(places.filter(({ split }) => inSplit(split, usual)).map(({ directory }) => directory));
  const others = places.filter(({ path, split, directory }) => {
    const own = wanted.get(path);
    return own === undefined ? complete.has(directory) && !inSplit(split, usual) : !inSplit(split, own);
  });
  return { others: new Map(others.map(({ path, split }) => [path, split])), refused, problems: [...reasons.values()] };
}

/** Names of a column that states the split of each row. */
const SPLIT_COLUMN = /^(?:(?:data(?:set)?|row)_?)?(?:split|splits|subset|partition)$/i;
/** Work of a row besides reading its split, in bytes. */
const SPLIT_WORK = 2 ** 12;

/** The rows of a table whose own column names another split than the wanted one. */
export interface RowSplits {
  readonly column: string;
  /** The row's split if it is another one; undefined for a row that is read. */
  other(row: number): Promise<string | undefined>;
}

/**
 * The splits that a column of the table states. As with files, rows of other splits are left out only if there are rows
 * of the wanted split, or if the user wants one.
 * @param wanted the split that the user wants; the training split otherwise
 * @returns undefined where no column states splits
 */
export async function rowSplits(table: Table, wanted: string | undefined, pace: Pace): Promise<RowSplits | undefined> {
  const column = table.columns.findIndex(({ name }) => SPLIT_COLUMN.test(name));
  if (column < 0) return undefined;
  const splitOf = async (row: number): Promise<string | undefined> => {
    const value = await table.cell(column, row);
    return typeof value === "string" ? splitOfWord(value.trim()) : undefined;
  };
  const own = wanted ?? "train";
  let [states, has] = [false, false];
  for (let row = 0; row < table.rows && !has; row++) {
    await pace(SPLIT_WORK);
    const split = await splitOf(row);
    if (split === undefined) continue;
    states = true;
    has = inSplit(split, own);
  }
  if (!states || (!has && wanted === undefined)) return undefined;
  return {
    column: table.columns[column]?.name ?? "",
    other: async (row) => {
      const split = await splitOf(row);
      return split === undefined || inSplit(split, own) ? undefined : split;
    },
  };
}
