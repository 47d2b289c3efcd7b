import { useEffect, useRef, useState } from "react";

/**
 * Debounces a value that changes in bursts, so that a burst causes one redraw.
 * @param quiet milliseconds without a change before the value is passed on
 * @param longest maximum milliseconds of delay while it keeps changing
 */
export function useSettled<T>(value: T, quiet: number, longest: number): T {
  const [settled, setSettled] = useState(value);
  const since = useRef<number | null>(null);
  useEffect(() => {
    if (Object.is(value, settled)) {
      since.current = null;
      return;
    }
    const now = performance.now();
    since.current ??= now;
    const left = Math.max(0, Math.min(quiet, since.current + longest - now));
    const timer = window.setTimeout(() => {
      since.current = null;
      setSettled(value);
    }, left);
    return () => window.clearTimeout(timer);
  }, [value, settled, quiet, longest]);
  return settled;
}
