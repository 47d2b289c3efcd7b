import { create } from "zustand";

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
