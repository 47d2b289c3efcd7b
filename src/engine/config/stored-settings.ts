/** Settings as stored with a run, read with the meaning they had when the run was made. */

type Stored = Readonly<Record<string, unknown>>;

/**
 * Gives settings that a version did not know the value that keeps the run as it was; all others take the table's
 * defaults. Before there was a split seed, the training seed decided which rows were held out.
 */
export function withOlderMeaning(stored: Stored): Stored {
  const older = !Object.hasOwn(stored, "splitSeed") && Object.hasOwn(stored, "seed");
  return older ? { ...stored, splitSeed: stored.seed } : stored;
}
