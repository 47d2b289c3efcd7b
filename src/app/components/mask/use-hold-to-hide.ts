import { useEffect } from "react";
import { isShortcut } from "../shortcuts.ts";
import { useOverlay } from "./overlay-store.ts";

/** On screens with pictures: holding H hides all overlays. */
export function useHoldToHide(): void {
  useEffect(() => {
    const { setHidden } = useOverlay.getState();
    const down = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === "h" && isShortcut(event) && !event.repeat) setHidden(true);
    };
    const up = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === "h") setHidden(false);
    };
    const show = (): void => setHidden(false);
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    // A key released in another window sends no event: leaving the page counts as release.
    window.addEventListener("blur", show);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", show);
      show();
    };
  }, []);
}
