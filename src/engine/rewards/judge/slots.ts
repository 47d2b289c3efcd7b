/** A number of places; who comes when all are taken waits in line. */
export interface Slots {
  /** Runs the work in a free slot. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** @param places how many may work at a time, at least 1 */
export function slots(places: number): Slots {
  let free = places;
  const line: (() => void)[] = [];
  return {
    async run(work) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => line.push(resolve));
      try {
        return await work();
      } finally {
        // The place goes straight to the next in line, so no newcomer can slip in between.
        const next = line.shift();
        if (next === undefined) free++;
        else next();
      }
    },
  };
}
