import { useClips } from "../components/clip/clip-store.ts";
import { useExports } from "../stores/run/exports.ts";

/** Makes the browser ask before it closes the tab while an export is written, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    if (useExports.getState().ongoing.length > 0 || useClips.getState().filming !== null) event.preventDefault();
  });
}
