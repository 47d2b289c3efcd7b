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

/**
 * Serialises read-modify-write changes of a path, so that no change is lost. Changes in one worker wait in a chain;
 * workers and tabs wait for a Web Lock.
 */

const CHANGE_PREFIX = "sa2va-lab/change/";

/** The part of LockManager that waits for a lock; implemented by `navigator.locks`. */
interface ChangeLocks {
  request(name: string, callback: () => Promise<void>): Promise<unknown>;
}

/** The last pending change of each path; settled ones are removed. */
const chains = new Map<string, Promise<void>>();

/**
 * Runs `change` after all earlier changes of the path have succeeded or failed. It must not change the same path
 * through this function, which would deadlock.
 * @param path a file in the run store, or a name of a critical section
 * @param locks null without lock support (Node): only changes of this worker are serialised
 * @returns what `change` returns
 * @throws what `change` throws; an error of the lock manager before anything is changed
 */
export async function oneAtATime<T>(
  path: string,
  change: () => Promise<T>,
  locks: ChangeLocks | null = globalThis.navigator?.locks ?? null,
): Promise<T> {
  const before = chains.get(path) ?? Promise.resolve();
  const mine = before.then(() => (locks === null ? change() : underLock(locks, `${CHANGE_PREFIX}${path}`, change)));
  const settled = mine.then(
    () => undefined,
    // The caller receives the error; the next change starts from the stored content.
    () => undefined,
  );
  chains.set(path, settled);
  try {
    return await mine;
  } finally {
    if (chains.get(path) === settled) chains.delete(path);
  }
}

async function underLock<T>(locks: ChangeLocks, name: string, change: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await locks.request(name, async () => {
    result = await change();
  });
  // A lock manager calls back before it resolves; otherwise it rejects.
  return result as T;
}
