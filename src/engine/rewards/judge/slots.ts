/** Limits concurrent work; calls beyond the limit wait in a queue. */
export interface Slots {
  /** Runs the work in a free slot. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** @param places maximum concurrent calls, at least 1 */
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
        // The slot goes straight to the next in the queue, so that no new call can take it.
        const next = line.shift();
        if (next === undefined) free++;
        else next();
      }
    },
  };
}
