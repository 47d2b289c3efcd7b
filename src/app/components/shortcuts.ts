/** Which presses of a key are shortcuts of the page. */
import { useEffect, useRef } from "react";
import { remember, rememberedFlag } from "../stores/saved.ts";

let letters = rememberedFlag("letterKeys", true);

/** Whether single-character shortcuts are on; people who dictate turn them off. */
export function letterKeysOn(): boolean {
  return letters;
}

export function setLetterKeys(on: boolean): void {
  letters = on;
  remember("letterKeys", on);
}

/** Whether a key press may be a shortcut: neither the browser nor a field uses it, and single-character keys are on; "?" always is. */
export function isShortcut({ defaultPrevented, ctrlKey, metaKey, altKey, target, key }: KeyboardEvent): boolean {
  if (defaultPrevented || ctrlKey || metaKey || altKey || isTyping(target)) return false;
  return letters || key.length > 1 || key === "?";
}

/** Whether a dialog or menu lies over the page and takes its keys. */
export function isCovered(): boolean {
  return document.querySelector("[role=dialog], [role=menu]") !== null;
}

/** Calls back for each press that may be a shortcut while nothing lies over the page. */
export function useShortcuts(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const down = (event: KeyboardEvent): void => {
      if (isShortcut(event) && !isCovered()) latest.current(event);
    };
    window.addEventListener("keydown", down);
    return () => window.removeEventListener("keydown", down);
  }, []);
}

/** Whether a control uses the arrow keys, Home and End itself. */
export function usesArrows(target: EventTarget | null): boolean {
  const controls = "[role=tablist], [role=slider], [role=group], [role=toolbar], input, select, pre";
  return target instanceof HTMLElement && target.closest(controls) !== null;
}

/** Whether typed characters go into a field. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) {
    return true;
  }
  return target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type);
}
