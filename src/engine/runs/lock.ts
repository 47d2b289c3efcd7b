/** One tab writes a run: a Web Lock per run is held while it trains. */

/** The part of LockManager that is used; `navigator.locks` fits. */
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
    locks.request(`sa2va-lab/run/${runId}`, { ifAvailable: true }, whileHeld).catch(reject);
  });
}
