/** Redraws are gathered: at most four times a second, in one animation frame, and never while the page is hidden. */
const INTERVAL = 250;

const waiting = new Set<() => void>();
let scheduled = false;
let last = 0;

/** Asks for a redraw; asking again before it happened changes nothing. */
export function requestRedraw(draw: () => void): void {
  waiting.add(draw);
  if (scheduled || document.visibilityState === "hidden") return;
  scheduled = true;
  window.setTimeout(() => requestAnimationFrame(flush), Math.max(0, last + INTERVAL - performance.now()));
}

/** Takes a request back, because its chart is gone. */
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
