/** Which rows of a data set a run trains on, and which it keeps apart. */
import type { LabConfig } from "../config/table.ts";
import { splitByImage } from "../data/splits.ts";
import { LabError } from "../errors.ts";

/** The usable rows of the open data set; a row's place is its index there. */
export interface RowList {
  readonly dataSet: string;
  /** [row id, image id]. */
  readonly rows: readonly (readonly [string, string])[];
}

export interface SelectedRows {
  /** Data-set indices, ascending. */
  readonly train: readonly number[];
  readonly heldOut: readonly number[];
}

/** @throws LabError("bad-input") when no row is left to train on */
export function selectRows(list: RowList, config: LabConfig): SelectedRows {
  const used = config.maxRows === 0 ? list.rows : list.rows.slice(0, config.maxRows);
  const split = splitByImage(
    used.map(([id, imageId]) => ({ id, imageId })),
    config.heldOutShare,
    config.seed,
  );
  if (split.train.length === 0) {
    throw new LabError(
      "bad-input",
      `${list.dataSet} has no row to train on: ${used.length} usable, ${split.heldOut.length} held out`,
      {
        subject: list.dataSet,
      },
    );
  }
  return split;
}
