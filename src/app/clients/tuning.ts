import { useTuning } from "../stores/tuning.ts";
import { lab } from "./lab.ts";
import { saveBlob } from "./save-blob.ts";

let stop = new AbortController();

/** Reads the table and the number of shapes without a measurement. */
export async function refreshTuning(): Promise<void> {
  useTuning.setState({ report: await lab().trainer.tuning() });
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
    await lab().trainer.tune(again, onBucket, stop.signal);
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
  await lab().trainer.takeTable(await file.text(), file.name);
  await refreshTuning();
}
