/**
 * State of every slot of the batch, as words of one buffer. A slot is a position in the batch. It holds a row while
 * that row generates tokens, so that ended rows cost nothing.
 */

/** Words per slot. */
export const SLOT_WORDS = 13;

/** Id of a slot that starts with a given embedding instead of a token. */
export const NO_TOKEN = 0xffff_ffff;

export interface Slot {
  /** Row of the batch, to which cache, embedding and results belong. */
  readonly row: number;
  /** Row of the prefixes' cache, visible at [0, head); then follow `tail` positions of the row's own cache. */
  readonly pastRow: number;
  readonly head: number;
  readonly tail: number;
  /** What the position of a new token differs by from its index, at most 0. */
  readonly shift: number;
  /** New tokens whose keys are already stored. */
  readonly count: number;
  /** Token to continue from. */
  readonly id: number;
  /** Philox counter without its last word, and key (gpu/random.ts). */
  readonly counter: readonly [number, number, number];
  readonly key: readonly [number, number];
  /** Random position of the first new token. */
  readonly position: number;
}

/** Field names in WGSL: `state[slot * SLOT_WORDS + HEAD]`. */
export const SLOT_HEADER = `
  const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
  const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
  const SLOT_WORDS = ${SLOT_WORDS}u;
  const NO_TOKEN = ${NO_TOKEN}u;`;

export function slotWords(slots: readonly Slot[]): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(slots.length * SLOT_WORDS);
  slots.forEach((slot, at) => {
    const { row, pastRow, head, tail, shift, count, id, counter, key, position } = slot;
    // Two's complement; the sum with the index is not negative.
    words.set([row, pastRow, head, tail, count, id, ...counter, ...key, position, shift >>> 0], at * SLOT_WORDS);
  });
  return words;
}
