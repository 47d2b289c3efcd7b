/** Reads, measures and imports the table of kernel forms of the trainer's adapter. */
import { seenShapes } from "../../engine/gpu/forms/active.ts";
import type { TuningTable } from "../../engine/tuning/table.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { tuneKernels } from "./tuner.ts";

/** The measured forms of kernels. */
export interface TuningReport {
  readonly table: TuningTable;
  /** Shapes that were computed but not measured. */
  readonly missing: number;
}

export const tunerCalls = (place: () => Promise<TrainerPlace>) => ({
  async tuning(): Promise<TuningReport> {
    const { lab } = await place();
    const table = await lab.forms.table();
    const known = new Set(table.entries.map(({ bucket }) => bucket));
    return { table, missing: seenShapes().filter(({ bucket }) => !known.has(bucket)).length };
  },
  /**
   * Measures the forms of computed shapes: those without an entry, or all.
   * @throws LabError when the device is in use, LabError("cancelled") when the signal aborts; finished measurements are
   * kept
   */
  async tune(
    again: boolean,
    onBucket: (done: number, total: number, bucket: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { lab } = await place();
    await tuneKernels(lab, again, { onBucket, signal });
  },
  /** Imports a tuning table from JSON. @throws LabError naming the file and what is invalid */
  async takeTable(json: string, file: string): Promise<void> {
    await (await place()).lab.forms.take(json, file);
  },
});

export type TunerCalls = CallsOf<typeof tunerCalls>;
