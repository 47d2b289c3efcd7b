import type { Values } from "./values.ts";

/** A data page's entries: one per value, null or empty list. */
export interface Page {
  readonly entries: number;
  /** Levels per entry; undefined if all are 0, or all at their maximum. */
  readonly rep: ArrayLike<number> | undefined;
  readonly def: ArrayLike<number> | undefined;
  /** Index of each entry's value among the page's values; undefined if every entry has one. */
  readonly places: Uint32Array | undefined;
  readonly values: Values;
  /** Bytes in memory. */
  readonly bytes: number;
}

/** Index of each entry's value among the values, if some entries have none. */
export function placesOf(
  def: ArrayLike<number> | undefined,
  largest: number,
  entries: number,
): { readonly places: Uint32Array | undefined; readonly count: number } {
  if (def === undefined) return { places: undefined, count: entries };
  let count = 0;
  for (let entry = 0; entry < entries; entry++) if (def[entry] === largest) count++;
  if (count === entries) return { places: undefined, count };
  const places = new Uint32Array(entries);
  let place = 0;
  for (let entry = 0; entry < entries; entry++) {
    places[entry] = place;
    if (def[entry] === largest) place++;
  }
  return { places, count };
}
