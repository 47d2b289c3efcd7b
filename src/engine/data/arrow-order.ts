import { viewOf } from "../bytes/memory.ts";
/**
 * Whether a schema states big-endian values. The Arrow library drops this field, so it is read here: field 0 of the
 * Schema table, which a Message refers to by field 2 and a Footer by field 1 (Arrow format, Message.fbs and File.fbs).
 * @param metadata a flatbuffer that the library has already decoded
 */
export function isBigEndian(metadata: Uint8Array, root: "message" | "footer"): boolean {
  const view = viewOf(metadata);
  /** Offset of a field within its table, 0 when it is not stored. */
  const field = (table: number, index: number): number => {
    const vtable = table - view.getInt32(table, true);
    const at = 4 + 2 * index;
    return at < view.getUint16(vtable, true) ? view.getUint16(vtable + at, true) : 0;
  };
  try {
    const table = view.getUint32(0, true);
    const reference = table + field(table, root === "message" ? 2 : 1);
    const schema = reference + view.getUint32(reference, true);
    const order = field(schema, 0);
    return order !== 0 && view.getInt16(schema + order, true) === 1;
  } catch {
    // Out of range: the field is not stored, which means the usual order.
    return false;
  }
}
