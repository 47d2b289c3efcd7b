import { viewOf } from "../../bytes/memory.ts";

/** A vector of a flatbuffer: position and number of its items, inside the buffer. */
export interface FlatVector {
  readonly start: number;
  readonly length: number;
}

/**
 * Bounds-checked reader of flatbuffer tables. Common readers trust lengths, so a damaged file can exhaust memory. Every
 * method throws RangeError outside the buffer.
 */
export interface FlatReader {
  readonly view: DataView;
  /** Position of the root table. */
  root(): number;
  /** Position of a field's value in a table; 0 if it is not stored and has its default. */
  field(table: number, index: number): number;
  /** Position of the table, vector or string that a field refers to; 0 when it is not stored. */
  reference(table: number, index: number): number;
  /** Vector of a field with items of a given size; empty when it is not stored. */
  vector(table: number, index: number, itemBytes: number): FlatVector;
  /** 64-bit integer of a field as a number; 0 when it is not stored. */
  long(table: number, index: number): number;
}

export function flatReader(bytes: Uint8Array): FlatReader {
  const view = viewOf(bytes);
  const field = (table: number, index: number): number => {
    const vtable = table - view.getInt32(table, true);
    const at = 4 + 2 * index;
    if (at >= view.getUint16(vtable, true)) return 0;
    const offset = view.getUint16(vtable + at, true);
    return offset === 0 ? 0 : table + offset;
  };
  const reference = (table: number, index: number): number => {
    const at = field(table, index);
    return at === 0 ? 0 : at + view.getUint32(at, true);
  };
  return {
    view,
    field,
    reference,
    root: () => view.getUint32(0, true),
    vector: (table, index, itemBytes) => {
      const at = reference(table, index);
      if (at === 0) return { start: 0, length: 0 };
      const length = view.getUint32(at, true);
      if (at + 4 + length * itemBytes > bytes.length) throw new RangeError("a vector extends beyond its message");
      return { start: at + 4, length };
    },
    long: (table, index) => {
      const at = field(table, index);
      return at === 0 ? 0 : Number(view.getBigInt64(at, true));
    },
  };
}
