/**
 * Divides a data set into the rows that a run trains on and those it holds out. Trainer, evaluation and exports all use
 * it. The result depends on the rows and on four settings (maxRows, heldOutShare, splitSeed, selectionShare), never on
 * the training seed.
 */
import type { LabConfig } from "../config/table.ts";
import { rowsHash } from "../data/open-rows.ts";
import { parseSources, sourceAt } from "../data/sources.ts";
import { splitByImage } from "../data/splits.ts";
import { LabError } from "../errors.ts";
import type { RowDifficulty } from "./difficulty.ts";
import type { RunManifest } from "./manifest.ts";

/** The usable rows of the open data set; the index of a row is its position here. */
export interface RowList {
  readonly dataSet: string;
  /** [row id, image id]. */
  readonly rows: readonly (readonly [string, string])[];
  /** Words of each row's caption, for length grouping; at least 1. */
  readonly words?: readonly number[];
  /** Measured difficulty of any rows, for a curriculum. */
  readonly difficulty?: readonly RowDifficulty[];
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
export type SplitSettings = Pick<LabConfig, "maxRows" | "heldOutShare" | "splitSeed" | "selectionShare">;

/** Gives the held-out images another hash than the one that chose them. */
const SELECTION_SALT = 0x5e1ec7;

/** @throws LabError("bad-input") when no row is left for training */
export function runRows(list: RowList, config: SplitSettings): RunRows {
  const { images, train, heldOut } = splitRows(list.rows, config);
  if (train.length === 0) {
    throw new LabError(
      "bad-input",
      `${list.dataSet} has no row to train on: ${images.length} usable, ${heldOut.length} held out`,
      { subject: list.dataSet },
    );
  }
  const held = heldOut.map((index) => images[index] as (typeof images)[number]);
  // A single image cannot be on both sides; it is reported.
  const share = new Set(held.map(({ imageId }) => imageId)).size < 2 ? 0 : config.selectionShare;
  const parts = splitByImage(held, share, (config.splitSeed ^ SELECTION_SALT) >>> 0);
  const indices = (places: readonly number[]): number[] => places.map((place) => heldOut[place] as number);
  return { train, heldOut, selection: indices(parts.heldOut), report: indices(parts.train) };
}

/** Number of rows that a run with these settings trains on; 0 if none is left. */
export function countTrainRows(rows: RowList["rows"], config: SplitSettings): number {
  return splitRows(rows, config).train.length;
}

function splitRows(rows: RowList["rows"], { maxRows, heldOutShare, splitSeed }: SplitSettings) {
  const images = (maxRows === 0 ? rows : rows.slice(0, maxRows)).map(([, imageId]) => ({ imageId }));
  return { images, ...splitByImage(images, heldOutShare, splitSeed) };
}

/**
 * The rows of a stored run in the open data set.
 * @throws LabError("bad-input") when the open rows are not those of the run
 */
export async function storedRunRows(manifest: RunManifest, list: RowList): Promise<RunRows> {
  if ((await rowsHash(list.rows)) === manifest.data.hash) return runRows(list, manifest.config);
  throw new LabError(
    "bad-input",
    `Run "${manifest.title}" uses the rows of ${manifest.data.name}; ${list.dataSet} has other rows, so the split into training and held-out rows is unknown`,
    { subject: manifest.id },
  );
}

/**
 * The held-out rows of an evaluation: evalRows in total, each part by its share, the first of each in the order of the
 * data set; of a mix, the sources in turn, so that each has rows.
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
