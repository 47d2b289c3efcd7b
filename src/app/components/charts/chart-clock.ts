/** Batches redraws: at most four times a second, in one animation frame, and never while the page is hidden. */
const INTERVAL = 250;

const waiting = new Set<() => void>();
let scheduled = false;
let last = 0;

/** Requests a redraw; further requests before it happens change nothing. */
export function requestRedraw(draw: () => void): void {
  waiting.add(draw);
  if (scheduled || document.visibilityState === "hidden") return;
  scheduled = true;
  window.setTimeout(() => requestAnimationFrame(flush), Math.max(0, last + INTERVAL - performance.now()));
}

/** Cancels the request of a chart that was removed. */
export function cancelRedraw(draw: () => void): void {
  waiting.delete(draw);
}

function flush(): void {
  scheduled = false;
  last = performance.now();
  const due = [...waiting];
  waiting.clear();
  for (const draw of due) draw();
}

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && waiting.size > 0 && !scheduled) {
      scheduled = true;
      requestAnimationFrame(flush);
    }
  });
}
