/** Clock of a judge, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after that many milliseconds, or as soon as the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** A clock on real timers. @param now milliseconds since the epoch */
export function timerClock(now: () => number): Clock {
  return {
    now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, milliseconds);
        signal.addEventListener("abort", end);
      }),
  };
}
