/** Result of one task: its value or the thrown error. */
export type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Runs tasks 0 to `count` - 1, up to `width` at a time, and yields their results in order. When the caller stops
 * iterating, running tasks finish and no new task starts.
 */
export async function* inOrder<T>(
  count: number,
  width: number,
  work: (index: number) => Promise<T>,
): AsyncGenerator<Settled<T>, void, undefined> {
  const begun: Promise<Settled<T>>[] = [];
  const begin = (index: number): void => {
    const settled = work(index).then(
      (value) => ({ value }),
      (thrown: unknown) => ({ thrown }),
    );
    begun.push(settled);
  };
  for (let index = 0; index < Math.min(width, count); index++) begin(index);
  for (let index = 0; index < count; index++) {
    const next = await (begun.shift() as Promise<Settled<T>>);
    if (index + width < count) begin(index + width);
    yield next;
  }
}
