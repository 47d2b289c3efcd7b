/** One tab writes a run: a Web Lock per run is held while it trains. */

const PREFIX = "sa2va-lab/run/";

/** The part of LockManager that takes a lock; `navigator.locks` fits. */
export interface RunLocks {
  request(
    name: string,
    options: { ifAvailable: true },
    callback: (lock: unknown) => Promise<void> | undefined,
  ): Promise<unknown>;
}

/**
 * Takes the run for this worker.
 * @param locks null where there are none (Node): the run is then taken without a check
 * @returns the function that gives it back, or null when another tab holds it (open the run read-only then)
 */
export async function holdRun(
  runId: string,
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
    locks.request(`${PREFIX}${runId}`, { ifAvailable: true }, whileHeld).catch(reject);
  });
}

/** The part of LockManager that tells who has which lock. */
export interface LockList {
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** Runs that any tab of this browser has taken, this one's among them; none where there are no locks. */
export async function heldRuns(
  locks: LockList | null = globalThis.navigator?.locks ?? null,
): Promise<ReadonlySet<string>> {
  if (locks === null) return new Set();
  const { held = [] } = await locks.query();
  const names = held.flatMap(({ name }) => (name?.startsWith(PREFIX) === true ? [name.slice(PREFIX.length)] : []));
  return new Set(names);
}
