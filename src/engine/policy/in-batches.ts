/** How many groups of a step the GPU takes at once: more are faster where a group is small, and take more memory. */

/** Runs of at most `atOnce` neighbours; all in one run for 0. */
export function inBatches<T>(items: readonly T[], atOnce: number): T[][] {
  const size = atOnce === 0 ? Math.max(1, items.length) : atOnce;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
