/** How much more can be stored. */
import type { RunStore } from "./store.ts";

/** Halvings of what was asked for: the answer is right to a 256th of it. */
const TRIES = 8;

/**
 * Bytes that are free, as far as it matters for `wanted` of them: at least so many when they fit. Where room can be tried
 * it is, since browsers tell sites another quota than they hold them to. A trial takes the room for a moment, so nothing
 * else should be written meanwhile.
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
