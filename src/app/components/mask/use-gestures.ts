import { type KeyboardEvent, type RefObject, useEffect } from "react";
import { create } from "zustand";

const now = (sync: string): View => useViews.getState().views[sync] ?? WHOLE;
const put = (sync: string, view: View): void => useViews.getState().setView(sync, view);

/**
 * The wheel zooms at the pointer if the figure has the focus, is zoomed, or Ctrl or a pinch is used; otherwise it scrolls
 * the page. Dragging pans, a double click resets the view. All figures of `sync` follow.
 */
export function useGestures(canvas: RefObject<HTMLCanvasElement | null>, sync: string | undefined): void {
  useEffect(() => {
    const element = canvas.current;
    if (element === null || sync === undefined) return;
    let dragged: { readonly x: number; readonly y: number } | null = null;
    const wheel = (event: WheelEvent): void => {
      const zoomed = now(sync).zoom > 1;
      const asked = event.ctrlKey || event.metaKey || document.activeElement === element;
      if (!zoomed && (!asked || event.deltaY > 0)) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY * 0.002);
      put(
        sync,
        zoomAt(now(sync), factor, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height),
      );
    };
    const down = (event: PointerEvent): void => {
      if (now(sync).zoom === 1 || event.button !== 0) return;
      dragged = { x: event.clientX, y: event.clientY };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent): void => {
      if (dragged === null) return;
      const box = element.getBoundingClientRect();
      const view = now(sync);
      put(sync, {
        zoom: view.zoom,
        x: view.x - (event.clientX - dragged.x) / box.width / view.zoom,
        y: view.y - (event.clientY - dragged.y) / box.height / view.zoom,
      });
      dragged = { x: event.clientX, y: event.clientY };
    };
    const up = (): void => {
      dragged = null;
    };
    const whole = (): void => put(sync, WHOLE);
    const end = new AbortController();
    const { signal } = end;
    element.addEventListener("wheel", wheel, { passive: false, signal });
    element.addEventListener("pointerdown", down, { signal });
    element.addEventListener("pointermove", move, { signal });
    element.addEventListener("pointerup", up, { signal });
    element.addEventListener("pointercancel", up, { signal });
    element.addEventListener("dblclick", whole, { signal });
    return () => end.abort();
  }, [canvas, sync]);
}

/** Keys of a focused figure: + and − zoom, 0 shows the whole, Shift with arrows pans. */
export function viewKey(event: KeyboardEvent, sync: string): void {
  const view = now(sync);
  const pan = 0.1 / view.zoom;
  const moved: Readonly<Record<string, View>> = {
    "+": zoomAt(view, 1.5, 0.5, 0.5),
    "=": zoomAt(view, 1.5, 0.5, 0.5),
    "-": zoomAt(view, 1 / 1.5, 0.5, 0.5),
    "0": WHOLE,
    ...(event.shiftKey && {
      ArrowLeft: { ...view, x: view.x - pan },
      ArrowRight: { ...view, x: view.x + pan },
      ArrowUp: { ...view, y: view.y - pan },
      ArrowDown: { ...view, y: view.y + pan },
    }),
  };
  const next = moved[event.key];
  if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  put(sync, next);
}

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
