/** A map that keeps the most recently used values, up to a total size. */
export class Lru<K, V> {
  readonly #capacity: number;
  readonly #sizeOf: (value: V) => number;
  /** From least to most recently used. */
  readonly #entries = new Map<K, V>();
  #size = 0;

  /** @param sizeOf size of one value, which must not change; by default every value counts 1 */
  constructor(capacity: number, sizeOf: (value: V) => number = () => 1) {
    this.#capacity = capacity;
    this.#sizeOf = sizeOf;
  }

  get size(): number {
    return this.#entries.size;
  }

  values(): Iterable<V> {
    return this.#entries.values();
  }

  /** The value of a key, made if it is missing. A value larger than the capacity is returned but not kept. */
  get(key: K, make: () => V): V {
    const value = this.#entries.has(key) ? (this.#entries.get(key) as V) : make();
    this.delete(key);
    this.#entries.set(key, value);
    this.#size += this.#sizeOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#capacity) break;
      this.delete(oldest);
    }
    return value;
  }

  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#size -= this.#sizeOf(value);
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }
}

/** The promise of a key, made if it is missing; a rejected one is not kept. */
export function remember<K, T>(kept: Lru<K, Promise<T>>, key: K, make: () => Promise<T>): Promise<T> {
  return kept.get(key, () => {
    const made = make();
    made.catch(() => {
      if (kept.peek(key) === made) kept.delete(key);
    });
    return made;
  });
}

/** Adds an item to the list of a key. */
export function addTo<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

// Limits how many groups of a step run at once: more are faster when groups are small, but take more memory.

/** Splits the items into runs of at most `atOnce`; 0 gives a single run. */
export function inBatches<T>(items: readonly T[], atOnce: number): T[][] {
  const size = atOnce === 0 ? Math.max(1, items.length) : atOnce;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

/** The median; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
