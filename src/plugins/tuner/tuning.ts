/** The measured kernel forms, and the tuning in progress. */
import { create } from "zustand";
import { pluginCalls } from "../../app/clients/lab.ts";
import { saveBlob } from "../../app/clients/save-blob.ts";
import { jobKind, startJob } from "../../app/stores/jobs.ts";
import type { TunerCalls, TuningReport } from "./tuner-calls.ts";

export interface Tuning {
  readonly done: number;
  readonly total: number;
  /** The bucket that is being measured. */
  readonly bucket: string;
}

export const TUNING = jobKind<Tuning>("tuning");

/** Null until the trainer has sent it. */
export const useTuningReport = create<{ readonly report: TuningReport | null }>()(() => ({ report: null }));

const calls = () => pluginCalls<TunerCalls>("trainer");

/** Reads the table and the number of shapes without a measurement. */
export async function refreshTuning(): Promise<void> {
  useTuningReport.setState({ report: await calls().tuning() });
}

/**
 * Measures the kernel forms for the shapes that this page has computed so far; it ends after the current slice when it
 * is stopped.
 * @param again also repeats earlier measurements
 * @throws LabError("cancelled") then; what was measured until then is kept
 */
export function tune(again: boolean): Promise<void> {
  return startJob(TUNING, { done: 0, total: 0, bucket: "" }, (signal, show) => {
    const onBucket = (done: number, total: number, bucket: string): void => show({ done, total, bucket });
    return calls().tune(again, onBucket, signal).finally(refreshTuning);
  });
}

export function exportTable(): void {
  const table = useTuningReport.getState().report?.table;
  if (table === undefined) return;
  saveBlob(new Blob([`${JSON.stringify(table, null, 1)}\n`], { type: "application/json" }), "kernel-forms.json");
}

/** Takes a table from a file in place of the current one. @throws LabError naming the file and what is invalid */
export async function importTable(file: File): Promise<void> {
  await calls().takeTable(await file.text(), file.name);
  await refreshTuning();
}
