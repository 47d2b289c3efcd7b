import { useEffect } from "react";
import { useOverlay } from "./overlay-store.ts";

/** While a screen with pictures is open: holding H hides all overlays, releasing it shows them again. */
export function useHoldToHide(): void {
  useEffect(() => {
    const { setHidden } = useOverlay.getState();
    const down = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "h" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target)) return;
      if (!event.repeat) setHidden(true);
    };
    const up = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === "h") setHidden(false);
    };
    const show = (): void => setHidden(false);
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    // A key released in another window is never seen: leaving the page counts as release.
    window.addEventListener("blur", show);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", show);
      show();
    };
  }, []);
}

/** Whether single-letter keys belong to a field and not to the screen. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) {
    return true;
  }
  return target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type);
}
