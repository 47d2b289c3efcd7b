/** The measured kernel forms, and the tuning in progress. */
import { create } from "zustand";
import { pluginCalls } from "../../app/clients/lab.ts";
import { saveBlob } from "../../app/clients/save-blob.ts";
import type { TunerCalls, TuningReport } from "./tuner-calls.ts";

export interface TuningState {
  /** "stopped": it ended before its last bucket. */
  readonly state: "never" | "running" | "done" | "stopped";
  /** Null until the trainer has sent it. */
  readonly report: TuningReport | null;
  readonly done: number;
  readonly total: number;
  /** The bucket that is being measured. */
  readonly bucket: string;
}

export const useTuning = create<TuningState>()(() => ({
  state: "never",
  report: null,
  done: 0,
  total: 0,
  bucket: "",
}));

const calls = () => pluginCalls<TunerCalls>("trainer");

let stop = new AbortController();

/** Reads the table and the number of shapes without a measurement. */
export async function refreshTuning(): Promise<void> {
  useTuning.setState({ report: await calls().tuning() });
}

/**
 * Measures the kernel forms for the shapes that this page has computed so far.
 * @param again also repeats earlier measurements
 * @throws LabError("cancelled") after `stopTuning`; what was measured until then is kept
 */
export async function tune(again: boolean): Promise<void> {
  stop = new AbortController();
  useTuning.setState({ state: "running", done: 0, total: 0, bucket: "" });
  const onBucket = (done: number, total: number, bucket: string): void => useTuning.setState({ done, total, bucket });
  try {
    await calls().tune(again, onBucket, stop.signal);
    useTuning.setState({ state: "done" });
  } catch (thrown) {
    useTuning.setState({ state: "stopped" });
    throw thrown;
  } finally {
    await refreshTuning();
  }
}

/** Ends the tuning after the current slice. */
export function stopTuning(): void {
  stop.abort();
}

export function exportTable(): void {
  const table = useTuning.getState().report?.table;
  if (table === undefined) return;
  saveBlob(new Blob([`${JSON.stringify(table, null, 1)}\n`], { type: "application/json" }), "kernel-forms.json");
}

/** Takes a table from a file in place of the current one. @throws LabError naming the file and what is invalid */
export async function importTable(file: File): Promise<void> {
  await calls().takeTable(await file.text(), file.name);
  await refreshTuning();
}
