/**
 * Conditions on rows, for the setting rowFilter and the filter of the Data screen. Both have the same syntax and
 * meaning.
 */
import { decimal } from "../bytes/text.ts";
import { LabError, quote } from "../errors.ts";
import type { RegionSummary } from "./sample.ts";

/** Number of white-space-separated words of a caption, at least 1; the caption's length for grouping rows. */
export function wordCount(caption: string): number {
  return Math.max(1, caption.trim().split(/\s+/).length);
}

/** Letters of scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/**
 * Whether a caption is in such a script and its words are not separated either. Scores that compare words, such as
 * METEOR, then take the whole caption for one word.
 */
export function lacksWordSpaces(caption: string): boolean {
  const letters = caption.match(/\p{L}/gu)?.length ?? 0;
  const unspaced = caption.match(UNSPACED)?.length ?? 0;
  return unspaced > 0 && unspaced >= letters / 2 && unspaced >= 2 * wordCount(caption);
}

/** The consequence for a loop's reward, as the end of a sentence. */
export const WITHOUT_WORD_SPACES =
  "written without spaces between words, so METEOR takes a caption for one word and is 0 unless captions are equal; use a judge or a custom reward, or separate the words by spaces";

/** Fields of a row that a filter reads. */
export type RowFacts = Pick<RegionSummary, "file" | "caption" | "category" | "maskShare">;

/** Minimum and maximum, both inclusive; infinite if open. */
export type Limits = readonly [least: number, most: number];

export const ANY: Limits = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

export interface RowFilter {
  /** A label of the row; empty for all. */
  readonly category: string;
  /** Path of the row's shard; empty for all. */
  readonly shard: string;
  /** Share of the picture that the mask covers, 0..1. */
  readonly area: Limits;
  /** Words in the caption. */
  readonly words: Limits;
  /** Words and "phrases in quotes" that must all occur in the caption; case is ignored. */
  readonly search: string;
}

/**
 * The rows that a run with these settings trains on or holds out: the first `maxRows` that pass the filter.
 * @throws LabError("bad-config") for a filter that cannot be read
 */
export function usedRows<T>(
  rows: readonly T[],
  factsOf: (row: T) => RowFacts,
  { rowFilter, maxRows }: { readonly rowFilter: string; readonly maxRows: number },
): readonly T[] {
  const matches = rowFilter === "" ? null : rowMatcher(parseRowFilter(rowFilter));
  const kept = matches === null ? rows : rows.filter((row) => matches(factsOf(row)));
  return maxRows === 0 ? kept : kept.slice(0, maxRows);
}

export const NO_FILTER: RowFilter = { category: "", shard: "", area: ANY, words: ANY, search: "" };

const CONDITION = /^(category|shard|area|words):(.*)$/s;

/** Parts separated by white space; white space inside quotes does not separate. */
const parts = (text: string): readonly string[] => text.match(/(?:[a-z]+:)?"(?:[^"\\]|\\.)*"|\S+/gs) ?? [];

const quoted = (value: string): string => `"${value.replace(/["\\]/g, "\\$&")}"`;

/** The text inside quotes; for an unclosed quote, the text after it. */
function unquoted(value: string): string {
  const inside = /^"((?:[^"\\]|\\.)*)"$/s.exec(value)?.[1];
  return inside === undefined ? value.replace(/^"/, "") : inside.replace(/\\(.)/gs, "$1");
}

export function isAny([least, most]: Limits): boolean {
  return least === ANY[0] && most === ANY[1];
}

export function isWithin(value: number, [least, most]: Limits): boolean {
  return value >= least && value <= most;
}

/** Conditions as text, such as `category:chair area:0.01..0.2 words:2..8 red cup`; empty for no filter. */
export function rowFilterText({ category, shard, area, words, search }: RowFilter): string {
  const named = (name: string, value: string): string[] =>
    value === "" ? [] : [`${name}:${/\s|^"/.test(value) ? quoted(value) : value}`];
  const range = (limits: Limits): string =>
    isAny(limits) ? "" : limits.map((limit) => (Number.isFinite(limit) ? limit : "")).join("..");
  return [
    ...named("category", category),
    ...named("shard", shard),
    ...named("area", range(area)),
    ...named("words", range(words)),
    ...parts(search).map((part) => (CONDITION.test(part) ? quoted(part) : part)),
  ].join(" ");
}

/**
 * Parses a filter; words that are not conditions are searched in captions.
 * @throws LabError("bad-config") naming an invalid condition
 */
export function parseRowFilter(text: string): RowFilter {
  const found = new Map<string, string>();
  const search: string[] = [];
  for (const part of parts(text)) {
    const [, name, value = ""] = CONDITION.exec(part) ?? [];
    if (name === undefined) {
      search.push(part);
      continue;
    }
    if (found.has(name)) throw bad(`names ${name} twice`);
    if (unquoted(value) === "") throw bad(`has ${quote(part)} without a value`);
    found.set(name, unquoted(value));
  }
  return {
    category: found.get("category") ?? "",
    shard: found.get("shard") ?? "",
    area: limitsOf("area", found.get("area")),
    words: limitsOf("words", found.get("words")),
    search: search.join(" "),
  };
}

function limitsOf(name: string, range: string | undefined): Limits {
  if (range === undefined) return ANY;
  const [least = "", most = "", ...more] = range.split("..");
  const limits: Limits = [least === "" ? ANY[0] : decimal(least), most === "" ? ANY[1] : decimal(most)];
  if (range.includes("..") && more.length === 0 && !isAny(limits) && limits[0] <= limits[1]) return limits;
  const example = name === "area" ? "0.01..0.2" : "2..8";
  throw bad(`has ${quote(`${name}:${range}`)}, which is not a range such as ${name}:${example}`);
}

function bad(what: string): LabError {
  return new LabError("bad-config", `rowFilter ${what}`, { subject: "rowFilter" });
}

/** Whether a row meets all conditions. */
export function rowMatcher({ category, shard, area, words, search }: RowFilter): (row: RowFacts) => boolean {
  const searched = parts(search).map((part) => unquoted(part).toLowerCase());
  return (row) => {
    if (category !== "" && !row.category.includes(category)) return false;
    if (shard !== "" && row.file !== shard) return false;
    if (!isWithin(row.maskShare, area) || !(isAny(words) || isWithin(wordCount(row.caption), words))) return false;
    const caption = row.caption.toLowerCase();
    return searched.every((part) => caption.includes(part));
  };
}
