/** Calls of the comparison on the data worker: resampling takes too long for the page. */
import { bootstrapMean } from "../../engine/eval/bootstrap.ts";
import { REPORT_SEED } from "../../engine/eval/report.ts";
import type { Interval } from "../../engine/runs/evaluations/evaluations.ts";
import type { CallsOf } from "../../protocol/rpc.ts";

export const compareCalls = () => ({
  /**
   * Mean difference of two runs over the same rows, with its 95 % interval over resampled pictures, drawn as in evaluation reports.
   * @param changes one per row, at least one
   * @param images pictures of the rows
   */
  meanChange: async (changes: readonly number[], images: readonly string[]): Promise<Interval> =>
    bootstrapMean(changes, images, REPORT_SEED),
});

export type CompareCalls = CallsOf<typeof compareCalls>;
