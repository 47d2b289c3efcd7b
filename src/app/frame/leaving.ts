import { useClips } from "../components/clip/clip-store.ts";
import { useExports } from "../stores/run/exports.ts";

/** Lets the browser ask before it closes the tab while a file is made, which would be lost. */
export function askBeforeLeaving(): void {
  window.addEventListener("beforeunload", (event) => {
    if (useExports.getState().ongoing.length > 0 || useClips.getState().filming !== null) event.preventDefault();
  });
}
