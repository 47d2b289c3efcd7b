/** One suite's rows on an opened device, the same way under Node and in a page. */
import type { BenchContext, BenchOptions } from "./context.ts";
import { peakRate } from "./peak.ts";
import type { BenchRow } from "./row.ts";
import { decodeRows } from "./suites/decode.ts";
import { kernelRows } from "./suites/kernels.ts";
import { stepRows } from "./suites/step.ts";

export type SuitePlace = Omit<BenchContext, "rounds" | "deadline" | "only" | "peak">;

export interface SuiteEnd {
  /** Multiply-adds count as two; 0 where the suite has no use for it. */
  readonly peak: number;
}

/** @throws LabError("gpu") when the device reported an error: no row after it would be true */
export async function runSuite(
  options: Pick<BenchOptions, "suite" | "rounds" | "budget" | "only">,
  place: SuitePlace,
  onRow: (row: BenchRow) => void | Promise<void>,
): Promise<SuiteEnd> {
  const { suite, rounds, budget, only } = options;
  const deadline = performance.now() + budget * 1000;
  const peak = suite === "kernels" ? await peakRate(place.clock) : 0;
  const context: BenchContext = { ...place, rounds, deadline, only, peak };
  const rows = suite === "kernels" ? kernelRows(context) : suite === "decode" ? decodeRows(context) : stepRows(context);
  for await (const row of rows) {
    context.device.check();
    await onRow(row);
  }
  return { peak };
}
