import { create } from "zustand";

export type OverlayMode = "fill" | "contour" | "off";

/** How masks lie on pictures: one setting for grids and detail views alike. */
export interface OverlayState {
  readonly mode: OverlayMode;
  /** Opacity of fills, 0..1. */
  readonly opacity: number;
  /** Held hidden by a key or the button beside a picture; gone as soon as it is released. */
  readonly hidden: boolean;
  readonly setMode: (mode: OverlayMode) => void;
  /** Clamped to 0..1. */
  readonly setOpacity: (opacity: number) => void;
  readonly setHidden: (hidden: boolean) => void;
}

export const useOverlay = create<OverlayState>()((set) => ({
  mode: "fill",
  opacity: 0.5,
  hidden: false,
  setMode: (mode) => set({ mode }),
  setOpacity: (opacity) => set({ opacity: Math.min(1, Math.max(0, Math.round(opacity * 100) / 100)) }),
  setHidden: (hidden) => set({ hidden }),
}));
