/**
 * Files that are read, changed and written back: one change of a path at a time, or the later of two writes what the
 * earlier had not read yet. Requests of one worker wait in a chain, workers and tabs for each other's Web Lock.
 */

const PREFIX = "sa2va-lab/change/";

/** The part of LockManager that waits for a lock; `navigator.locks` fits. */
export interface ChangeLocks {
  request(name: string, callback: () => Promise<void>): Promise<unknown>;
}

/** The last change asked for of each path; settled ones are taken out. */
const chains = new Map<string, Promise<void>>();

/**
 * Does `change` when every change of the path asked for before is done, whether it succeeded or failed. It must not
 * ask for the same path again, which would wait for itself.
 * @param path of a file in the store of runs, or a name for what must not happen twice at once
 * @param locks null where there are none (Node): only this worker's changes are then kept apart
 * @returns what `change` returns
 * @throws what `change` throws; a lock manager that fails, before anything is changed
 */
export async function oneAtATime<T>(
  path: string,
  change: () => Promise<T>,
  locks: ChangeLocks | null = globalThis.navigator?.locks ?? null,
): Promise<T> {
  const before = chains.get(path) ?? Promise.resolve();
  const mine = before.then(() => (locks === null ? change() : underLock(locks, `${PREFIX}${path}`, change)));
  const settled = mine.then(
    () => undefined,
    // Told to whoever asked for it; the next in the chain starts from what is stored.
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
  // A lock manager calls back before it settles, or rejects.
  return result as T;
}
