/** Contents of a valid LZ4 frame, decoded without the reader under test. */

/** Maximum bytes of contents: an earlier damage may have written a length of gigabytes. */
const MOST = 2 ** 24;

/** @throws RangeError when the frame is invalid after all */
export function lz4Contents(frame: Uint8Array): Uint8Array {
  const flags = frame[4] as number;
  let at = 7 + (flags & 8 ? 8 : 0);
  const out: number[] = [];
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  for (;;) {
    const head = view.getUint32(at, true);
    at += 4;
    if (head === 0) return Uint8Array.from(out);
    const end = at + (head & 0x7fffffff);
    if (end > frame.length) throw new RangeError("a block reaches out of its frame");
    if (head >>> 31 !== 0) for (; at < end; at++) out.push(frame[at] as number);
    else at = block(frame, at, end, out);
    if (flags & 16) at += 4;
  }
}

function block(frame: Uint8Array, start: number, end: number, out: number[]): number {
  let at = start;
  const length = (nibble: number): number => {
    let total = nibble;
    for (let more = nibble === 15 ? 255 : 0; more === 255; total += more) more = frame[at++] as number;
    return total;
  };
  while (at < end) {
    const token = frame[at++] as number;
    const literals = length(token >> 4);
    if (at + literals > end) throw new RangeError("a block ends inside a sequence");
    for (let left = literals; left > 0; left--) out.push(frame[at++] as number);
    if (at >= end) break;
    const offset = (frame[at] as number) | ((frame[at + 1] as number) << 8);
    at += 2;
    if (offset === 0 || offset > out.length) throw new RangeError("a match reaches out of its contents");
    const match = length(token & 15) + 4;
    if (out.length + match > MOST) throw new RangeError("a frame holds too much");
    for (let left = match; left > 0; left--) out.push(out[out.length - offset] as number);
  }
  return end;
}
