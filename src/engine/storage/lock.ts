/** Only one tab writes a run or a stored conversion: it holds a Web Lock meanwhile. */

const PREFIX = "sa2va-lab/run/";
const MODEL_PREFIX = "sa2va-lab/model/";

/** The part of LockManager that requests a lock; implemented by `navigator.locks`. */
export interface RunLocks {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => Promise<void> | undefined,
  ): Promise<unknown>;
}

/**
 * Locks the run for this worker.
 * @param locks null without lock support (Node): no check is made
 * @returns the function that releases it, or null if another tab holds it (open the run read-only)
 */
export async function holdRun(
  runId: string,
  locks: RunLocks | null = globalThis.navigator?.locks ?? null,
): Promise<(() => void) | null> {
  return hold(`${PREFIX}${runId}`, locks);
}

/** Locks a stored conversion for this worker, as `holdRun` does. */
export async function holdModel(
  id: string,
  locks: RunLocks | null = globalThis.navigator?.locks ?? null,
): Promise<(() => void) | null> {
  return hold(`${MODEL_PREFIX}${id}`, locks);
}

async function hold(name: string, locks: RunLocks | null): Promise<(() => void) | null> {
  if (locks === null) return () => {};
  return new Promise((resolve, reject) => {
    const whileHeld = (lock: unknown): Promise<void> | undefined => {
      if (lock === null) {
        resolve(null);
        return undefined;
      }
      return new Promise((release) => resolve(release));
    };
    locks.request(name, { ifAvailable: true }, whileHeld).catch(reject);
  });
}

/** The part of LockManager that lists held locks. */
export interface LockList {
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** Runs locked by any tab of this browser, including this one; empty without lock support. */
export async function heldRuns(
  locks: LockList | null = globalThis.navigator?.locks ?? null,
): Promise<ReadonlySet<string>> {
  if (locks === null) return new Set();
  const { held = [] } = await locks.query();
  const names = held.flatMap(({ name }) => (name?.startsWith(PREFIX) === true ? [name.slice(PREFIX.length)] : []));
  return new Set(names);
}
