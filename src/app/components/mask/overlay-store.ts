import { useEffect } from "react";
import { create } from "zustand";
import { isShortcut } from "../shortcuts.ts";

export type OverlayMode = "fill" | "contour" | "off";

/** How masks are drawn over pictures: one setting for grids and detail views. */
interface OverlayState {
  readonly mode: OverlayMode;
  /** Opacity of fills and of the dimmed surround of contours, 0..1. */
  readonly opacity: number;
  /** Masks are hidden while H is held. */
  readonly hidden: boolean;
  readonly setMode: (mode: OverlayMode) => void;
  /** Clamped to 0..1. */
  readonly setOpacity: (opacity: number) => void;
  readonly setHidden: (hidden: boolean) => void;
}

export const useOverlay = create<OverlayState>()((set) => ({
  mode: "contour",
  opacity: 0.5,
  hidden: false,
  setMode: (mode) => set({ mode }),
  setOpacity: (opacity) => set({ opacity: Math.min(1, Math.max(0, Math.round(opacity * 100) / 100)) }),
  setHidden: (hidden) => set({ hidden }),
}));

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
