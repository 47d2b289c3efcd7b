/** Free storage space. */
import type { RunStore } from "./store.ts";

/** Number of halvings, which makes the result exact to 1/256 of the request. */
const TRIES = 8;

/**
 * Free bytes; at least `wanted` if that many fit. If possible, space is probed by allocation, because the quota that
 * browsers report differs from the one they enforce. A probe uses the space for a moment, so do not write anything else
 * at the same time.
 * @param wanted bytes
 */
export async function freeRoom(store: RunStore, wanted: number): Promise<number> {
  if (store.fits === undefined) {
    const { usage, quota } = await store.usage();
    return quota - usage;
  }
  if (await store.fits(wanted)) return wanted;
  let [free, taken] = [0, wanted];
  for (let tries = 0; tries < TRIES; tries++) {
    const middle = Math.floor((free + taken) / 2);
    if (await store.fits(middle)) free = middle;
    else taken = middle;
  }
  return free;
}
