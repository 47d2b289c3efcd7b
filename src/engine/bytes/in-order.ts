/** What became of one of several works: its value, or what it threw. */
export type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Does works 0 to `count` - 1, up to `width` of them at a time, and gives what became of them in order. Works that have
 * begun when the caller stops asking are left to end by themselves; none begins after that.
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
