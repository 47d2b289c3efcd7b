import { useClips } from "../components/clip/clip-store.ts";
import { useExports } from "../stores/run/exports.ts";
import { isActive, useRun } from "../stores/run/run.ts";

/** Makes the browser ask before it closes the tab during a run, or while a file is written, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    const writes = useExports.getState().ongoing.length > 0 || useClips.getState().filming !== null;
    if (writes || isActive(useRun.getState().state)) event.preventDefault();
  });
}
