/** The rows of one suite on an opened device, under Node and in a page. */
import { setAdapterKind } from "../src/engine/gpu/runtime/custom-op.ts";
import { peakRates, type Rates } from "../src/plugins/tuner/peak.ts";
import type { BenchContext, BenchOptions } from "./context.ts";
import type { BenchRow } from "./row.ts";
import { decodeRows } from "./suites/decode.ts";
import { kernelRows } from "./suites/kernels.ts";
import { stepRows } from "./suites/step.ts";

export type SuitePlace = Omit<BenchContext, "rounds" | "deadline" | "only" | "measured" | "rates">;

export interface SuiteEnd {
  /** Multiply-adds count as two; 0 if the suite does not use them. */
  readonly rates: Rates;
}

/** @throws LabError("gpu") when the device reported an error, because later rows would be invalid */
export async function runSuite(
  options: Pick<BenchOptions, "suite" | "rounds" | "budget" | "only" | "measured" | "card">,
  place: SuitePlace,
  onRow: (row: BenchRow) => void | Promise<void>,
): Promise<SuiteEnd> {
  const { suite, rounds, budget, only, card } = options;
  const measured = new Set(options.measured);
  if (card) setAdapterKind(false);
  const deadline = performance.now() + budget * 1000;
  const rates = suite === "kernels" ? await peakRates(place.clock) : { f32: 0, f16: 0 };
  const context: BenchContext = { ...place, rounds, deadline, only, measured, rates };
  const rows = suite === "kernels" ? kernelRows(context) : suite === "decode" ? decodeRows(context) : stepRows(context);
  for await (const row of rows) {
    context.device.check();
    await onRow(row);
  }
  return { rates };
}
