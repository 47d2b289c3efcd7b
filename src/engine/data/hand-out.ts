/** Minimum batch size after the first items. */
const FEWEST = 8;
/** Maximum batch size, which limits the time of one transfer. */
const MOST = 8192;
/** A batch is emitted when it reaches this share of the earlier items, which limits repeated copying. */
const GROWTH = 1 / 4;

/**
 * Emits the new items of a growing list in growing batches, the first at once. A receiver that copies all n items at each
 * call copies at most 5 n items up to 32,768, and n² / 16,384 beyond.
 * @returns a function to call after the list has grown; with `all` it emits the rest
 */
export function handOut<T>(list: readonly T[], give: (added: readonly T[]) => void): (all?: boolean) => void {
  let given = 0;
  return (all = false) => {
    const enough = given === 0 ? 1 : Math.min(MOST, Math.max(FEWEST, given * GROWTH));
    if (list.length - given < enough && !all) return;
    while (given < list.length) {
      const added = list.slice(given, given + MOST);
      given += added.length;
      give(added);
    }
  };
}
