/**
 * Runs work items one at a time, in the order of the calls; each starts when the previous ones have ended, even with an
 * error.
 * @returns a function that runs an item in its turn and settles as the item does
 */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
