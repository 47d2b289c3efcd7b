/** Lets only one tab write a run or a stored conversion: the tab holds a Web Lock while it writes. */

const PREFIX = "sa2va-lab";
const RUNS = `${PREFIX}/run/`;

/** The part of LockManager that requests a lock; implemented by `navigator.locks`. */
export interface RunLocks {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => Promise<void> | undefined,
  ): Promise<unknown>;
}

/**
 * Locks a run or a stored conversion (by its id) for this worker.
 * @param locks null without lock support (Node): no check is made
 * @returns the function that releases it, or null if another tab holds it
 */
export async function hold(
  kind: "run" | "model",
  id: string,
  locks: RunLocks | null = globalThis.navigator?.locks ?? null,
): Promise<(() => void) | null> {
  if (locks === null) return () => {};
  return new Promise((resolve, reject) => {
    const whileHeld = (lock: unknown): Promise<void> | undefined => {
      if (lock === null) {
        resolve(null);
        return undefined;
      }
      return new Promise((release) => resolve(release));
    };
    locks.request(`${PREFIX}/${kind}/${id}`, { ifAvailable: true }, whileHeld).catch(reject);
  });
}

/** The part of LockManager that lists held locks. */
interface LockList {
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** Runs locked by any tab of this browser, including this one; empty without lock support. */
export async function heldRuns(
  locks: LockList | null = globalThis.navigator?.locks ?? null,
): Promise<ReadonlySet<string>> {
  if (locks === null) return new Set();
  const { held = [] } = await locks.query();
  const names = held.flatMap(({ name }) => (name?.startsWith(RUNS) === true ? [name.slice(RUNS.length)] : []));
  return new Set(names);
}
