/** Limits how many groups of a step run at once: more are faster when groups are small, but take more memory. */

/** Splits the items into runs of at most `atOnce`; 0 gives a single run. */
export function inBatches<T>(items: readonly T[], atOnce: number): T[][] {
  const size = atOnce === 0 ? Math.max(1, items.length) : atOnce;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
