import { useEffect, useRef, useState } from "react";

/**
 * A value that comes in bursts, handed on when it has been quiet for a moment. What is drawn from it is then drawn once a
 * burst, and the burst's own work, which may share the machine with the drawing, is not held up by it.
 * @param quiet milliseconds without a change after which the value is handed on
 * @param longest milliseconds after which it is handed on even while it keeps changing
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
