import { useJobs } from "../stores/jobs.ts";
import { isActive, useRun } from "../stores/run/run.ts";

/** Makes the browser ask before it closes the tab during a run, or while a file is written, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    const writes = Object.values(useJobs.getState()).some(({ kind, state }) => kind.writes && state === "running");
    if (writes || isActive(useRun.getState().state)) event.preventDefault();
  });
}
