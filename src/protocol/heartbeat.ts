/** Notices that the other side of a connection no longer answers. */

/** Milliseconds between two questions, and of silence after which it is reported. */
export const ASK_EVERY = 1000;
export const SILENT_AFTER = 10_000;
/** Milliseconds of further silence between two reports. */
const REPORT_EVERY = 5000;

export interface HeartbeatClock {
  /** Milliseconds; never goes back. */
  now(): number;
  /** Calls a function every so many milliseconds. @returns the function that ends this */
  every(milliseconds: number, tick: () => void): () => void;
}

/**
 * Asks the other side every second. Work between two turns of its event loop delays its answer, so a side that compiles
 * or records for a few seconds is not reported; one that waits for a device answers at once.
 * @param ping resolves when the other side answers; rejects when the connection has ended, which is not reported here
 * @param onSilence receives the whole seconds without an answer, from `SILENT_AFTER` on, and null at the next answer
 * @returns the function that ends the watch
 */
export function heartbeat(
  ping: () => Promise<void>,
  onSilence: (seconds: number | null) => void,
  clock: HeartbeatClock,
): () => void {
  // Until its script has run a worker cannot answer; a script that cannot be loaded is an error event.
  let heard = false;
  let waiting = false;
  let silent = 0;
  let reported = 0;
  let last = clock.now();
  const answered = (): void => {
    heard = true;
    waiting = false;
    silent = 0;
    if (reported > 0) onSilence(null);
    reported = 0;
  };
  return clock.every(ASK_EVERY, () => {
    const now = clock.now();
    // A page that slept, or whose timers were slowed down, has not listened all that time.
    if (waiting && heard) silent += Math.min(now - last, 2 * ASK_EVERY);
    last = now;
    if (!waiting) {
      waiting = true;
      ping().then(answered, () => undefined);
    }
    if (silent < SILENT_AFTER + reported * REPORT_EVERY) return;
    reported = 1 + Math.floor((silent - SILENT_AFTER) / REPORT_EVERY);
    onSilence(Math.floor(silent / 1000));
  });
}
