/** Fewest items that are handed out together after the first ones. */
const FEWEST = 8;
/** Most items that are handed out together, so that taking them over does not take long. */
const MOST = 8192;
/** Items are handed out once they are this share of those before: who copies all at every call copies little. */
const GROWTH = 1 / 4;

/**
 * Hands out the new items of a list that grows: the first at once, then always more together. Of n items a receiver who
 * copies all it has at every call copies at most 5 n up to 32,768 items, and n / 16,384 times n of many more.
 * @returns called after the list has grown; with `all` whatever is left is handed out
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
