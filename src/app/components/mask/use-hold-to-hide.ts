import { useEffect } from "react";
import { useOverlay } from "./overlay-store.ts";

/** On screens with pictures: holding H hides all overlays. */
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

/** Whether single-letter keys go to an input field. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) {
    return true;
  }
  return target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type);
}
