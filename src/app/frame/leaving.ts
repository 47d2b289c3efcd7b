import { useExports } from "../stores/run/exports.ts";
import { isActive, useRun } from "../stores/run/run.ts";

/** Files that are being made, beside exports of runs. */
let files = 0;

/** Makes the browser ask before it closes the tab during a run, or while a file is written, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    const writes = useExports.getState().ongoing.length > 0 || files > 0;
    if (writes || isActive(useRun.getState().state)) event.preventDefault();
  });
}

/** Makes the browser ask as long as a file is made. */
export async function askWhileMaking<T>(file: Promise<T>): Promise<T> {
  files++;
  return file.finally(() => files--);
}
