import { type KeyboardEvent, type RefObject, useEffect } from "react";
import { useViews, type View, WHOLE, zoomAt } from "./view-store.ts";

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
