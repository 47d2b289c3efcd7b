/** Work of the page in parts, so that no task of its thread takes long. */
import { type ReactNode, startTransition, useEffect, useState } from "react";

/** A frame draws until this time has passed, and at most so many canvases: the browser joins all that changed in one task. */
const FRAME_MS = 8;
const FRAME_CANVASES = 4;

const waiting = new Set<() => void>();
let scheduled = false;

/** Draws a canvas in one of the next frames, in the order of the requests; further requests before that change nothing. */
export function drawSoon(draw: () => void): void {
  waiting.add(draw);
  schedule();
}

/** Cancels the request of a canvas that was removed or has newer content. */
export function cancelDraw(draw: () => void): void {
  waiting.delete(draw);
}

function schedule(): void {
  if (scheduled || waiting.size === 0) return;
  scheduled = true;
  requestAnimationFrame(drawSome);
}

function drawSome(): void {
  scheduled = false;
  const until = performance.now() + FRAME_MS;
  let drawn = 0;
  try {
    for (const draw of waiting) {
      if (drawn++ === FRAME_CANVASES || performance.now() > until) break;
      waiting.delete(draw);
      draw();
    }
  } finally {
    schedule();
  }
}

/** Is mounted empty, then renders its content in slices that events may interrupt; so again for another `key`. */
export function InSlices({ children }: { readonly children: ReactNode }): ReactNode {
  const [begun, setBegun] = useState(false);
  useEffect(() => startTransition(() => setBegun(true)), []);
  return begun && children;
}
