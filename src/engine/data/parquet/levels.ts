/** The hybrid of runs and packed bits that stores levels, dictionary indices and booleans. */

/**
 * Decodes `count` numbers of `width` bits; ignores later bytes.
 * @param width 0 to 32; with 0 bits every number is 0
 * @returns the numbers in the smallest array type that holds them, and the offset after the last run
 * @throws RangeError when the runs end early or are outside the bytes
 */
export function readHybrid(
  bytes: Uint8Array,
  start: number,
  width: number,
  count: number,
): { readonly numbers: Uint8Array | Uint16Array | Uint32Array; readonly end: number } {
  if (!(width >= 0 && width <= 32)) throw new RangeError(`numbers cannot have ${width} bits`);
  const numbers = width <= 8 ? new Uint8Array(count) : width <= 16 ? new Uint16Array(count) : new Uint32Array(count);
  if (width === 0) return { numbers, end: start };
  let [at, filled] = [start, 0];
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError("a run of numbers extends beyond its page");
    return bytes[at++] as number;
  };
  while (filled < count) {
    let head = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      if (shift > 28) throw new RangeError("a run of numbers is too long");
      const byte = next();
      head += (byte & 127) * 2 ** shift;
      more = byte >= 128;
    }
    if (head % 2 === 0) {
      const run = Math.min(head / 2, count - filled);
      let value = 0;
      for (let byte = 0; byte < width; byte += 8) value += next() * 2 ** byte;
      numbers.fill(value, filled, filled + run);
      filled += run;
      continue;
    }
    // Groups of eight numbers; those after the last one may be missing.
    const packed = Math.min(((head - 1) / 2) * 8, count - filled);
    let [word, bits] = [0, 0];
    for (const stop = filled + packed; filled < stop; filled++) {
      while (bits < width) {
        word += next() * 2 ** bits;
        bits += 8;
      }
      const size = 2 ** width;
      numbers[filled] = word % size;
      word = Math.floor(word / size);
      bits -= width;
    }
    const whole = Math.ceil((((head - 1) / 2) * 8 * width) / 8);
    at = Math.min(bytes.length, at + Math.max(0, whole - Math.ceil((packed * width) / 8)));
  }
  return { numbers, end: at };
}

/** Bits needed for numbers from 0 to `largest`. */
export function bitsFor(largest: number): number {
  return 32 - Math.clz32(largest);
}
