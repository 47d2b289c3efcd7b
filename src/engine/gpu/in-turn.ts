/**
 * Works that must not overlap: each begins when all that were asked for before it have ended, well or not.
 * @returns a way to ask for one, which settles as the work does
 */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
