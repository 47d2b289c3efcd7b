/**
 * Long work on bytes in memory, in pieces: reads from memory never leave the current turn of the event loop, so a
 * message that cancels the work could not arrive.
 */
import { LabError } from "../errors.ts";

/** Bytes of work between two turns of the event loop. */
const TURN_BYTES = 4 * 2 ** 20;

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

/** Leaves the event loop a turn after one piece of work, if it was on many bytes. */
export async function turnAfter(bytes: number): Promise<void> {
  if (bytes >= TURN_BYTES) await nextTurn();
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
  let turn = Promise.resolve();
  return async (bytes) => {
    check();
    done += bytes;
    if (done < TURN_BYTES) return;
    done = 0;
    // Pieces that wait at the same time go on in different turns.
    turn = turn.then(nextTurn);
    await turn;
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

/** Result of one task: its value or the thrown error. */
type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Runs tasks 0 to `count` - 1, up to `width` at a time, and yields their results in order. When the caller stops
 * iterating, running tasks finish and no new task starts.
 */
export async function* inOrder<T>(
  count: number,
  width: number,
  work: (index: number) => Promise<T>,
): AsyncGenerator<Settled<T>, void, undefined> {
  const begun: Promise<Settled<T>>[] = [];
  const begin = (index: number): void => {
    const settled = work(index).then(
      (value) => ({ value }),
      (thrown: unknown) => ({ thrown }),
    );
    begun.push(settled);
  };
  for (let index = 0; index < Math.min(width, count); index++) begin(index);
  for (let index = 0; index < count; index++) {
    const next = await (begun.shift() as Promise<Settled<T>>);
    if (index + width < count) begin(index + width);
    yield next;
  }
}

/**
 * Runs work items one at a time, in the order of the calls; each starts when the previous ones have ended, even with an
 * error.
 * @returns a function that runs an item in its turn and settles as the item does
 */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
