/** The row of a prompt: the one that the data order gives, or the next usable one. */
import type { RowSource, TrainingRow } from "../../data/training-row.ts";
import { badInput } from "../../errors.ts";
import type { Loop } from "../loops/loop.ts";

/**
 * @param trainRows data-set indices, at least one
 * @param place position in `trainRows` that the data order gives; the search continues from there and wraps around
 * @param loop decides which rows it can sample, and has the end of the error sentence
 * @throws LabError("bad-input") when no training row can be used
 */
export async function drawRow(
  rows: RowSource,
  trainRows: readonly number[],
  place: number,
  loop: Pick<Loop, "needs"> & { readonly usable: (row: TrainingRow) => boolean },
): Promise<TrainingRow> {
  for (let tried = 0; tried < trainRows.length; tried++) {
    const row = await rows(trainRows[(place + tried) % trainRows.length] as number);
    if (loop.usable(row)) return row;
  }
  const { subject, text } = loop.needs;
  throw badInput(`None of the ${trainRows.length} training rows ${text}`, subject);
}
