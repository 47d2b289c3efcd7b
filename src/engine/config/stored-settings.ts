/** Reads stored settings with the meaning that they had when the run started. */

type Stored = Readonly<Record<string, unknown>>;

/**
 * A setting that an older version lacked gets the value that keeps the run's behaviour, or else the default. In
 * versions without a split seed, the training seed selected the held-out rows.
 */
export function withOlderMeaning(stored: Stored): Stored {
  const older = !Object.hasOwn(stored, "splitSeed") && Object.hasOwn(stored, "seed");
  return older ? { ...stored, splitSeed: stored.seed } : stored;
}
