import type { LoadProgress } from "../../src/engine/model/weights/checkpoint.ts";

/** Seconds between two lines. */
const EVERY = 5;

/** Prints every few seconds how much of a model has been read, the rate, and the remaining time. */
export function loadingLine(
  say: (text: string) => void,
  now: () => number = () => performance.now() / 1000,
): (progress: LoadProgress) => void {
  const start = now();
  let said = start;
  return ({ bytes, totalBytes }) => {
    const time = now();
    if (time - said < EVERY || totalBytes === 0) return;
    said = time;
    const rate = bytes / (time - start);
    const left = Math.round((totalBytes - bytes) / rate);
    const mega = (count: number): string => (count / 1e6).toFixed(0);
    say(`${mega(bytes)} of ${mega(totalBytes)} MB, ${mega(rate)} MB/s, ${left} s left`);
  };
}
