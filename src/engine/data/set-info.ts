import { addTo } from "../bytes/collections.ts";
import { distinctNames } from "../bytes/text.ts";
import { badInput, LabError, LONGEST_SENTENCE, quote, shortened, toLabError } from "../errors.ts";
import { decodeSample } from "./film-strip.ts";
import { decodeRle, encodeRle, rleArea } from "./mask/rle.ts";
import type { RegionSet, ShardInfo } from "./region-set.ts";
import { lacksWordSpaces, WITHOUT_WORD_SPACES } from "./row-filter.ts";
import type { ImageDecoder, RegionSample, SkippedRow } from "./sample.ts";
import { epochOrder } from "./splits.ts";
import { identify } from "./tables/identify.ts";
import { type PairSample, tallyText } from "./talk/tally.ts";

/** One check of a data set. */
export interface DataCheck {
  readonly name:
    | "data set loaded"
    | "shards read"
    | "data set named"
    | "pictures decode"
    | "masks decode"
    | "captions found"
    | "words separated"
    | "captions describe their mask"
    | "batch built"
    | "ready for training";
  readonly ok: boolean;
  /** Whether training is impossible if this check fails. */
  readonly blocks: boolean;
  /** One sentence with the numbers. */
  readonly detail: string;
}

const BATCH = 4;
/** A caption that begins with another mask, as `inWords` names it (talk/marks.ts). */
const ABOUT_ANOTHER = /^(the other region|region \d+)\b/i;
/** Masks with a smaller share of the picture, or with fewer pixels in a large picture, indicate a wrong format. */
const NEXT_TO_NOTHING = 1e-4;
const HANDFUL = { pixels: 16, share: 0.02 };

/**
 * The checks of a data set, in order: number of rows; shards that were not read to their end, if there are any; columns
 * against the data set's name; first, middle and last picture decoded; every mask decoded and measured; share of rows with
 * a caption; captions without spaces between words, and captions about another mask, if there are any; one batch built and
 * timed; the summary.
 * @param now milliseconds of any clock
 * @param names names of the opened folders
 */
export async function checkRegionSet(
  set: RegionSet,
  decode: ImageDecoder,
  now: () => number,
  names: readonly string[] = [],
): Promise<DataCheck[]> {
  const { summaries, files } = set;
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const unread = files.flatMap(({ name }) => problemOf(set, name) ?? []);
  const usable = files.filter(
    (file) => file.adapter !== "" && (file.rows > 0 || problemOf(set, file.name) === undefined),
  );
  const good = new Set(summaries.map((summary) => `${summary.file}#${summary.row}`)).size;
  const checks: DataCheck[] = [];
  checks.push({
    name: "data set loaded",
    ok: summaries.length > 0,
    blocks: true,
    detail: `${counted(summaries.length, "sample")} from ${good} of ${counted(rows, "row")} in ${usable.length} of ${counted(files.length, "shard")}${otherSplits(set)}`,
  });
  const [first] = unread;
  if (first !== undefined && summaries.length > 0) {
    const [are, their] = unread.length === 1 ? ["is", "its"] : ["are", "their"];
    const detail = `${unread.length} of ${counted(files.length, "shard")} ${are} not read to ${their} end: ${first}`;
    checks.push({ name: "shards read", ok: false, blocks: false, detail: shortened(detail, LONGEST_SENTENCE) });
  }
  checks.push(checkName(set, names));
  checks.push(await attempt("pictures decode", () => checkPictures(set, decode)));
  checks.push(await attempt("masks decode", async () => checkMasks(set)));
  checks.push(checkCaptions(set));
  const unspaced = summaries.filter(({ caption }) => lacksWordSpaces(caption)).length;
  if (unspaced > 0) {
    const share = ((100 * unspaced) / summaries.length).toFixed(1);
    const detail = `${share} % of the captions are ${WITHOUT_WORD_SPACES}`;
    checks.push({ name: "words separated", ok: false, blocks: false, detail });
  }
  const relations = summaries.filter(({ caption }) => ABOUT_ANOTHER.test(caption));
  if (relations.length > 0) {
    const [{ caption }] = relations as [(typeof relations)[0]];
    const detail = `${relations.length} of ${summaries.length} captions describe another mask than theirs, such as ${quote(shortened(caption, 60))}: they say where the mask lies and name no object, so loop 1 cannot learn from them`;
    checks.push({ name: "captions describe their mask", ok: false, blocks: false, detail });
  }
  checks.push(
    await attempt("batch built", async () => {
      const start = now();
      const order = epochOrder(summaries.length, 0, 0).subarray(0, BATCH);
      for (const index of order) {
        const sample = await set.sample(index);
        await tryDecode(sample, decode);
        decodeRle(sample.mask);
      }
      return `${counted(order.length, "sample")} read and decoded in ${(now() - start).toFixed(0)} ms`;
    }),
  );
  const failed = checks.filter((check) => !check.ok);
  const ok = !failed.some((check) => check.blocks);
  const list = failed.map((check) => check.name).join(", ");
  const detail =
    failed.length === 0
      ? "all checks passed"
      : ok
        ? `the rows can be used; not passed: ${list}`
        : `not passed: ${list}`;
  checks.push({ name: "ready for training", ok, blocks: true, detail });
  return checks;

  /** The files of other splits as the end of a sentence; empty for none. */
  function otherSplits({ ignored }: RegionSet): string {
    const splits = ignored.flatMap(({ split }) => split ?? []);
    if (splits.length === 0) return "";
    const [files, them] = splits.length === 1 ? ["1 file", "it"] : [`${splits.length} files`, "them"];
    const names = [...new Set(splits)].join(" and ");
    return `; left out: ${files} of the split ${names} (to use ${them}, open ${them} alone)`;
  }

  /** A check that fails with the message of a thrown error, or if there is no sample. */
  async function attempt(name: DataCheck["name"], body: () => Promise<string>): Promise<DataCheck> {
    if (summaries.length === 0) return { name, ok: false, blocks: true, detail: "there is no sample" };
    try {
      return { name, ok: true, blocks: true, detail: await body() };
    } catch (thrown) {
      return { name, ok: false, blocks: true, detail: toLabError(thrown).message };
    }
  }
}

/** Why a file gives no rows, or not all; undefined if it was read to its end. */
const problemOf = ({ skipped }: RegionSet, name: string): string | undefined =>
  skipped.find(({ file, row, lost }) => file === name && row < 0 && lost === undefined)?.reason;

/** Compares the columns with the data set that the folder and file names suggest. */
function checkName({ files, description }: RegionSet, names: readonly string[]): DataCheck {
  const layouts = files.flatMap(({ layout }) => (layout === undefined ? [] : [layout]));
  const { what, conflict } = identify(layouts, [...names, ...files.map(({ name }) => name)], description);
  return { name: "data set named", ok: conflict === undefined, blocks: false, detail: conflict ?? what };
}

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** The share of rows in usable shards that were not skipped because of their text. */
function checkCaptions({ files, skipped, summaries, answers }: RegionSet): DataCheck {
  const texts = new Map(files.map((file) => [file.name, file.roles?.text]));
  const good = new Set(summaries.map((summary) => `${summary.file}#${summary.row}`));
  const without = new Set<string>();
  for (const { file, row, column } of skipped) {
    if (row >= 0 && column === texts.get(file) && !good.has(`${file}#${row}`)) without.add(`${file}#${row}`);
  }
  const rows = files.reduce((sum, file) => sum + (file.roles === undefined ? 0 : file.rows), 0);
  const share = rows === 0 ? 0 : (100 * (rows - without.size)) / rows;
  const parts = [
    `${share.toFixed(1)} % of ${counted(rows, "row")} ${rows === 1 ? "has" : "have"} a caption`,
    tallyText(answers),
  ];
  const detail = parts.filter((part) => part !== "").join("; ");
  return { name: "captions found", ok: summaries.length > 0, blocks: true, detail };
}

async function checkPictures(set: RegionSet, decode: ImageDecoder): Promise<string> {
  const last = set.summaries.length - 1;
  const sizes: string[] = [];
  for (const index of new Set([0, last >> 1, last])) {
    const sample: RegionSample = await set.sample(index);
    sizes.push(`${sample.id} ${await tryDecode(sample, decode)}`);
  }
  return `first, middle and last: ${sizes.join(", ")}`;
}

/** Size of the decoded picture as text. A format that this decoder does not support is not a fault of the data. */
async function tryDecode(sample: RegionSample, decode: ImageDecoder): Promise<string> {
  try {
    const { width, height } = await decodeSample(sample, decode);
    return `${width} x ${height}`;
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code !== "unsupported") throw thrown;
    return `${sample.image.width} x ${sample.image.height} by its header (${thrown.message})`;
  }
}

/** Measures every mask from its runs; decodes and encodes the first, middle and last masks pixel by pixel. */
function checkMasks(set: RegionSet): string {
  const { summaries } = set;
  const last = summaries.length - 1;
  let [low, high] = [1, 0];
  for (const { maskShare } of summaries) {
    low = Math.min(low, maskShare);
    high = Math.max(high, maskShare);
  }
  for (const index of new Set([0, last >> 1, last])) {
    const summary = summaries[index];
    if (summary === undefined) continue;
    const pixels = decodeRle(summary.mask);
    const counted = pixels.reduce((sum, pixel) => sum + pixel, 0);
    const again = rleArea(encodeRle(pixels, summary.height, summary.width));
    if (counted !== rleArea(summary.mask) || again !== counted) {
      throw new Error(`${summary.id}: the mask has ${counted} pixels, but its runs add up to ${rleArea(summary.mask)}`);
    }
  }
  const tiny = summaries.filter(
    ({ maskShare, width, height }) =>
      maskShare < NEXT_TO_NOTHING ||
      (maskShare < HANDFUL.share && Math.round(maskShare * width * height) < HANDFUL.pixels),
  ).length;
  if (2 * tiny > summaries.length) {
    throw badInput(
      `${tiny} of ${summaries.length} masks are almost empty (under ${HANDFUL.pixels} pixels or ${100 * NEXT_TO_NOTHING} % of the picture): they are damaged or in an unsupported format`,
    );
  }
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return `${summaries.length} masks fit their pictures and cover ${percent(low)} to ${percent(high)} of them`;
}

/** Description of an opened data set for the user. */
export interface SetInfo {
  readonly name: string;
  readonly images: number;
  readonly skipped: readonly SkippedRow[];
  readonly files: readonly (Pick<ShardInfo, "bytes" | "rows" | "adapter" | "schema" | "split"> & {
    readonly path: string;
    readonly kept: number;
    /** Kind of the file, with the evidence. */
    readonly what: string;
    /** The columns used as picture, mask and text; empty if the file is unusable. */
    readonly becomes: string;
    /** Why the file gives no rows, or not all; undefined if it was read to its end. */
    readonly problem: string | undefined;
    /** Columns that can be chosen for a part, and the chosen ones. */
    readonly parts: readonly string[];
    readonly roles: ShardInfo["roles"];
  })[];
  readonly ignored: RegionSet["ignored"];
  /** Labels with their counts, most frequent first, ties by name. */
  readonly categories: readonly (readonly [string, number])[];
  /** Results of checkRegionSet. */
  readonly checks: readonly DataCheck[];
  /** Questions of conversations with what became of their answers, as examples. */
  readonly pairs: readonly PairSample[];
  /** Indices of the only opened folders with rows, and the files of the others; undefined if all have rows, or none. */
  readonly alone?: { readonly folders: readonly number[]; readonly others: RegionSet["ignored"] };
}

/**
 * The folders that the rows of several are read from, as in `SetInfo`: a file beside a folder changes neither its name
 * nor the ids of its rows.
 * @param names of the folders, below which their files are (`mergeFolders`)
 */
export function foldersWithRows({ used, ignored }: RegionSet, names: readonly string[]): SetInfo["alone"] {
  const distinct = distinctNames();
  const roots = names.map((name) => `${distinct(name)}/`);
  const folders = [...roots.keys()].filter((at) => [...used].some((path) => path.startsWith(roots[at] as string)));
  if (folders.length === 0 || folders.length === names.length) return undefined;
  const rest = roots.filter((_, at) => !folders.includes(at));
  const others = ignored.flatMap((file) => {
    const root = rest.find((one) => file.name.startsWith(one));
    return root === undefined ? [] : [{ ...file, name: file.name.slice(root.length) }];
  });
  return { folders, others };
}

/** Counts and checks of a finished index. */
export function describeSet(set: RegionSet, name: string, checks: readonly DataCheck[]): SetInfo {
  const kept = new Map<string, Set<number>>();
  const categories = new Map<string, number>();
  const images = new Set<string>();
  for (const summary of set.summaries) {
    images.add(summary.imageId);
    const rows = kept.get(summary.file) ?? new Set();
    kept.set(summary.file, rows.add(summary.row));
    for (const label of summary.category) categories.set(label, (categories.get(label) ?? 0) + 1);
  }
  return {
    name,
    images: images.size,
    skipped: set.skipped,
    files: set.files.map((file) => ({
      path: file.name,
      bytes: file.bytes,
      rows: file.rows,
      kept: kept.get(file.name)?.size ?? 0,
      adapter: file.adapter,
      schema: file.schema,
      what: file.reason ?? file.layout?.what ?? "",
      becomes: rolesText(file.roles),
      problem: problemOf(set, file.name),
      parts: file.parts ?? [],
      roles: file.roles,
      split: file.split,
    })),
    ignored: set.ignored,
    categories: [...categories].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)),
    checks,
    pairs: set.answers.samples(),
  };
}

/** Maximum characters of the reasons in a sentence. */
const REASONS = 200;

/**
 * The sentence on files without a usable row: their two most frequent reasons, each with its number of rows or files.
 * @param names names of the opened files or folders
 */
export function whyNoRow(skipped: readonly SkippedRow[], names: readonly string[]): string {
  const kinds = new Map<string, SkippedRow[]>();
  for (const one of skipped) {
    // A remark, such as on shards that are not here, is no cause. Reasons that differ in names or numbers are one kind.
    if (one.lost !== 0) addTo(kinds, one.reason.replace(/"[^"]*"|\d+/g, ""), one);
  }
  const told = [...kinds.values()].sort((a, b) => b.length - a.length).slice(0, 2);
  const name = names.join(" + ");
  const reasons = told.map((all) => {
    const [{ reason, row }] = all as [SkippedRow];
    const own = [`${name}: `, `${name} `].find((start) => reason.startsWith(start));
    const text = own === undefined ? reason : `${own.endsWith(": ") ? "" : "it "}${reason.slice(own.length)}`;
    const first = all.length === 1 ? "" : ` (the first of ${all.length} ${row < 0 ? "files" : "rows"})`;
    return shortened(text, REASONS / told.length) + first;
  });
  return `No usable row in ${name}: ${reasons.join("; ") || "it contains no rows"}`;
}

/** Roles of the columns as text. */
export function rolesText(roles: ShardInfo["roles"]): string {
  return roles === undefined ? "" : `picture: ${roles.image}, mask: ${roles.mask}, text: ${roles.text}`;
}
