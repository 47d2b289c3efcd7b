/** Sources of a mix: assigns rows to sources by their file paths (setting mixSources). */
import { decimal } from "../bytes/text.ts";
import { LabError, quote } from "../errors.ts";

export interface Source {
  /** Start of a file path or of a folder or file name in it; `*` for files of no other source. */
  readonly name: string;
  /** Repeats per epoch or weight per draw. */
  readonly amount: number;
}

/** The source of files that belong to no other source. */
const OTHERS = "*";
const MOST = 1000;
/** Files that a refusal lists. */
const FILES_NAMED = 5;

/**
 * The sources of a mix in their order, with `*` at the end if the text does not name it; none for an empty text.
 * @throws LabError("bad-config") naming the invalid part
 */
export function parseSources(text: string): readonly Source[] {
  const parts = text.split(/[,\n]/).map((part) => part.trim());
  const sources = parts.filter((part) => part !== "").map(sourceIn);
  const names = sources.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw bad(`names ${quote(twice)} twice`);
  if (sources.length > 0 && sources.every(({ amount }) => amount === 0))
    throw bad("gives the number 0 to every source it names");
  return sources.length === 0 || names.includes(OTHERS) ? sources : [...sources, { name: OTHERS, amount: 1 }];
}

function sourceIn(part: string): Source {
  const [, name = "", number = ""] = /^(.*?)\s*=\s*([^=]*)$/.exec(part) ?? [];
  const amount = decimal(number);
  if (name === "" || !(amount >= 0 && amount <= MOST)) {
    throw bad(`has ${quote(part)}, which is not name=number with a number from 0 to ${MOST}`);
  }
  return { name, amount };
}

function bad(what: string): LabError {
  return new LabError("bad-config", `mixSources ${what}`, { subject: "mixSources" });
}

/**
 * Index of a row's source, by the row's id (`<file>#<row>`): of several names that fit, the longest, because `refcoco`
 * also begins `refcoco+` and `refcocog`.
 * @param sources sources including `*`
 */
export function sourceAt(sources: readonly Source[], rowId: string): number {
  const file = rowId.slice(0, rowId.lastIndexOf("#"));
  const fits = sources.map(({ name }) => {
    if (name === OTHERS) return 0;
    return file.startsWith(name) || file.includes(`/${name}`) ? name.length : -1;
  });
  return fits.indexOf(Math.max(...fits));
}

/** A source with its rows and its expected share of the prompts. */
export interface SourceShare extends Source {
  readonly rows: number;
  /** 0..1 */
  readonly share: number;
}

/** The sources of a mix with the rows of these ids; empty without a mix. */
export function sourceShares(text: string, by: "repeats" | "weights", rowIds: readonly string[]): SourceShare[] {
  const sources = parseSources(text);
  const rows = sources.map(() => 0);
  for (const id of rowIds) rows[sourceAt(sources, id)] = (rows[sourceAt(sources, id)] ?? 0) + 1;
  const parts = sources.map(({ amount }, at) => {
    const count = rows[at] as number;
    return by === "weights" ? (count === 0 ? 0 : amount) : Math.floor(count * amount + 1e-9);
  });
  const total = parts.reduce((sum, part) => sum + part, 0);
  return sources.map((source, at) => ({
    ...source,
    rows: rows[at] as number,
    share: total === 0 ? 0 : (parts[at] as number) / total,
  }));
}

/** @throws LabError("bad-config") naming a source that matches no file of the data set, and the files */
export function requireSources(text: string, rowIds: readonly string[]): void {
  const unmatched = sourceShares(text, "repeats", rowIds).find(({ name, rows }) => name !== OTHERS && rows === 0);
  if (unmatched === undefined) return;
  const files = [...new Set(rowIds.map((id) => id.slice(0, id.lastIndexOf("#"))))];
  const more = files.length > FILES_NAMED ? `, and ${files.length - FILES_NAMED} more` : "";
  const known = files
    .slice(0, FILES_NAMED)
    .map((file) => quote(file))
    .join(", ");
  throw bad(`has ${quote(unmatched.name)}, which matches no file of the data set; its files are ${known}${more}`);
}
