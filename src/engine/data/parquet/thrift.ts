/** Checks the bounds of Thrift's compact protocol, before a reader that trusts its lengths reads the bytes. */

const MAX_DEPTH = 24;
const [STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT] = [0, 1, 2, 3, 7, 8, 9, 10, 12];

/**
 * Walks a struct: every length must be inside the bytes, numbers have at most ten bytes, and lists no more items than
 * bytes remain.
 * @param start offset of the struct
 * @returns the offset after its end
 * @throws RangeError when it does not end inside the bytes or is nested deeper than 24 levels
 */
export function checkStruct(bytes: Uint8Array, start: number): number {
  let at = start;
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError("a struct extends beyond its bytes");
    return bytes[at++] as number;
  };
  const number = (): number => {
    let value = 0;
    for (let length = 0; length < 10; length++) {
      const byte = next();
      value += (byte & 127) * 2 ** (7 * length);
      if (byte < 128) return value;
    }
    throw new RangeError("a number has more than ten bytes");
  };
  const skip = (count: number): void => {
    if (count > bytes.length - at) throw new RangeError("a value extends beyond its bytes");
    at += count;
  };
  const value = (type: number, depth: number): void => {
    if (depth > MAX_DEPTH) throw new RangeError("structs are nested too deep");
    if (type === TRUE || type === FALSE) return;
    if (type === BYTE) skip(1);
    else if (type < DOUBLE) number();
    else if (type === DOUBLE) skip(8);
    else if (type === BINARY) skip(number());
    else if (type === LIST || type === SET) {
      const head = next();
      const items = head >> 4 === 15 ? number() : head >> 4;
      if (items > bytes.length - at) throw new RangeError("a list has more items than bytes");
      const kind = head & 15;
      for (let n = 0; n < items; n++) value(kind === TRUE || kind === FALSE ? BYTE : kind, depth + 1);
    } else if (type === STRUCT) struct(depth + 1);
    else throw new RangeError(`a value has the unknown type ${type}`);
  };
  const struct = (depth: number): void => {
    for (let head = next(); (head & 15) !== STOP; head = next()) {
      if (head >> 4 === 0) number();
      value(head & 15, depth);
    }
  };
  struct(0);
  return at;
}
