/**
 * Long work on bytes in memory, in pieces: reads from memory never leave the current turn of the event loop, so a
 * message that cancels the work could not arrive.
 */
import { LabError } from "../errors.ts";

/** Bytes of work between two turns of the event loop. */
export const TURN_BYTES = 4 * 2 ** 20;

/** Counts bytes of work. @throws LabError("cancelled") when the signal is aborted */
export type Pace = (bytes: number) => Promise<void>;

/** Continues in a later turn of the event loop, after messages and timers that are due. */
export function nextTurn(): Promise<void> {
  // A timer would wait at least four milliseconds in a browser.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/**
 * A pace that leaves the event loop a turn every `TURN_BYTES` and looks at the signal at every call.
 * @param what the work, as the beginning of "was cancelled": "reading a.zip"
 */
export function paced(what: string, signal?: AbortSignal): Pace {
  const check = (): void => {
    if (signal?.aborted) throw new LabError("cancelled", `${what} was cancelled`);
  };
  let done = 0;
  return async (bytes) => {
    check();
    done += bytes;
    if (done < TURN_BYTES) return;
    done = 0;
    await nextTurn();
    check();
  };
}

/**
 * Runs work with a signal that follows another one until the work ends. Sources that the work opens keep this signal,
 * and a later abort of the other one does not touch them.
 */
export async function whileOpen<T>(
  signal: AbortSignal | undefined,
  work: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const abort = (): void => own.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  try {
    return await work(own.signal);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
