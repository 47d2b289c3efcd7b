import { create } from "zustand";

/** Visible part of a picture, shared by all figures of one `sync` name. */
export interface View {
  /** 1 shows the whole picture. */
  readonly zoom: number;
  /** Point of the picture at the centre of the figure, as shares of its width and height. */
  readonly x: number;
  readonly y: number;
}

export const WHOLE: View = { zoom: 1, x: 0.5, y: 0.5 };
const MAX_ZOOM = 64;

interface ViewState {
  readonly views: Readonly<Record<string, View>>;
  readonly setView: (sync: string, view: View) => void;
}

export const useViews = create<ViewState>()((set) => ({
  views: {},
  setView: (sync, view) => set((state) => ({ views: { ...state.views, [sync]: clampView(view) } })),
}));

/** Zoom clamped to 1..64, centre clamped so that the picture fills the figure. */
export function clampView(view: View): View {
  const zoom = Math.min(MAX_ZOOM, Math.max(1, view.zoom));
  const margin = 0.5 / zoom;
  const hold = (value: number): number => Math.min(1 - margin, Math.max(margin, value));
  return { zoom, x: hold(view.x), y: hold(view.y) };
}

/** The view zoomed by a factor while the point (px, py), in shares of the figure, stays under the pointer. */
export function zoomAt(view: View, factor: number, px: number, py: number): View {
  const zoom = Math.min(MAX_ZOOM, Math.max(1, view.zoom * factor));
  const shift = 1 / view.zoom - 1 / zoom;
  return clampView({ zoom, x: view.x + (px - 0.5) * shift, y: view.y + (py - 0.5) * shift });
}
