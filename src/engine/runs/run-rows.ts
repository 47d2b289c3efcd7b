/**
 * Divides a data set into the rows that a run trains on and those it holds out. Trainer, evaluation and exports all use
 * it. The result depends on the rows and on five settings (rowFilter, maxRows, heldOutShare, splitSeed, selectionShare),
 * never on the training seed.
 */
import type { LabConfig } from "../config/table.ts";
import { rowsHash } from "../data/open-rows.ts";
import { type RowFacts, usedRows, wordCount } from "../data/row-filter.ts";
import type { RegionSummary } from "../data/sample.ts";
import { parseSources, sourceAt } from "../data/sources.ts";
import { splitByImage } from "../data/splits.ts";
import { badInput, LabError, quote } from "../errors.ts";
import type { RowDifficulty } from "./difficulty.ts";
import type { RunManifest } from "./manifest.ts";

/** The usable rows of the open data set; the index of a row is its position here. */
export interface RowList {
  readonly dataSet: string;
  /** [row id, image id]. */
  readonly rows: readonly (readonly [string, string])[];
  /** Words of each row's caption, for length grouping; at least 1. */
  readonly words?: readonly number[];
  /** The fields of each row that a filter reads; required if the settings have a filter. */
  readonly facts?: readonly RowFacts[];
  /** Measured difficulty of any rows, for a curriculum. */
  readonly difficulty?: readonly RowDifficulty[];
}

/** @param filtered false leaves out the fields that only a filter reads, so that less is sent */
export function rowList(dataSet: string, summaries: readonly RegionSummary[], filtered = true): RowList {
  return {
    dataSet,
    rows: summaries.map(({ id, imageId }) => [id, imageId] as const),
    words: summaries.map(({ caption }) => wordCount(caption)),
    ...(filtered && {
      facts: summaries.map(({ file, caption, category, maskShare }) => ({ file, caption, category, maskShare })),
    }),
  };
}

/** Data-set indices, ascending. No image is in two of `train`, `selection` and `report`. */
export interface RunRows {
  readonly train: readonly number[];
  /** `selection` and `report` together. */
  readonly heldOut: readonly number[];
  /** Held-out rows that choose the best checkpoint; no reported number uses them. */
  readonly selection: readonly number[];
  /** Held-out rows of every reported number. */
  readonly report: readonly number[];
}

/** Settings that decide the split. */
export type SplitSettings = Pick<LabConfig, "rowFilter" | "maxRows" | "heldOutShare" | "splitSeed" | "selectionShare">;

/** Salt of the second hash, so that it is independent of the one that chose the held-out images. */
const SELECTION_SALT = 0x5e1ec7;

/**
 * @throws LabError("bad-input") when no row is left for training, "bad-config" for a filter that cannot be read
 */
export function runRows(list: RowList, config: SplitSettings): RunRows {
  const { dataSet, rows, facts } = list;
  const { rowFilter, heldOutShare, splitSeed } = config;
  if (rowFilter !== "" && facts?.length !== rows.length)
    throw new LabError("internal", `The captions and masks of ${dataSet} are missing`);
  const used = usedRows([...rows.keys()], (index) => facts?.[index] as RowFacts, config);
  const split = (of: readonly number[], share: number, seed: number): Pick<RunRows, "train" | "heldOut"> => {
    const images = of.map((index) => ({ imageId: imageOf(rows, index) }));
    const parts = splitByImage(images, share, seed);
    const indices = (places: readonly number[]): number[] => places.map((place) => of[place] as number);
    return { train: indices(parts.train), heldOut: indices(parts.heldOut) };
  };
  const { train, heldOut } = split(used, heldOutShare, splitSeed);
  if (train.length === 0) {
    const message =
      rowFilter === ""
        ? `${dataSet} has no row to train on: ${used.length} usable`
        : `rowFilter ${quote(rowFilter)} leaves no row of ${dataSet} to train on: ${used.length} of ${rows.length} match`;
    throw badInput(`${message}, ${heldOut.length} held out`, dataSet);
  }
  // A single image cannot be on both sides; it is reported.
  const images = new Set(heldOut.map((index) => imageOf(rows, index)));
  const share = images.size < 2 ? 0 : config.selectionShare;
  const parts = split(heldOut, share, (splitSeed ^ SELECTION_SALT) >>> 0);
  return { train, heldOut, selection: parts.heldOut, report: parts.train };
}

const imageOf = (rows: RowList["rows"], index: number): string => (rows[index] as RowList["rows"][number])[1];

/**
 * Identifies the rows that a filter chose, which also depend on captions, labels and masks; stored in the manifest's
 * data. Empty without a filter.
 */
export async function usedHash(
  { rows }: Pick<RowList, "rows">,
  { train, heldOut }: Pick<RunRows, "train" | "heldOut">,
  { rowFilter }: Pick<LabConfig, "rowFilter">,
): Promise<{ readonly usedHash?: string }> {
  if (rowFilter === "") return {};
  return { usedHash: await rowsHash([...train, ...heldOut].map((index) => rows[index] as RowList["rows"][number])) };
}

/**
 * The rows of a stored run in the open data set.
 * @throws LabError("bad-input") when the open rows are not those of the run, or its filter now chooses other rows
 */
export async function storedRunRows({ id, title, data, config }: RunManifest, list: RowList): Promise<RunRows> {
  const refuse = (why: string): LabError => badInput(`Run "${title}" ${why}`, id);
  if ((await rowsHash(list.rows)) !== data.hash) {
    throw refuse(
      `uses the rows of ${data.name}; ${list.dataSet} has other rows, so the split into training and held-out rows is unknown`,
    );
  }
  const selected = runRows(list, config);
  if ((await usedHash(list, selected, config)).usedHash === data.usedHash) return selected;
  throw refuse("was filtered by captions, labels or masks that differ in the open rows");
}

/**
 * The held-out rows of an evaluation: evalRows in total, divided between the parts by their shares, the first rows of
 * each part in data-set order. With a mix, the sources alternate, so that each has rows.
 */
export function evaluatedRows(
  { selection, report }: Pick<RunRows, "selection" | "report">,
  { evalRows, selectionShare, mixSources }: Pick<LabConfig, "evalRows" | "selectionShare" | "mixSources">,
  { rows }: Pick<RowList, "rows">,
): Pick<RunRows, "selection" | "report"> {
  const chosen = selection.length === 0 ? 0 : Math.max(1, Math.round(evalRows * selectionShare));
  const sources = parseSources(mixSources);
  const first = (indices: readonly number[], count: number): number[] => {
    if (sources.length === 0) return indices.slice(0, count);
    const lists = sources.map(({ amount }, at) =>
      amount === 0 ? [] : indices.filter((index) => sourceAt(sources, rows[index]?.[0] ?? "") === at),
    );
    const longest = Math.max(...lists.map(({ length }) => length));
    const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list[turn] ?? []));
    return turns.flat().slice(0, count);
  };
  return { selection: first(selection, chosen), report: first(report, evalRows - chosen) };
}
