/** Checks that a batch can hold its declared rows, so that a header cannot make a reader walk missing rows. */
import type { ByteSource } from "../../bytes/source.ts";
import { type Column, fixedWidth } from "../tables/column-type.ts";
import { contentSize } from "./arrow-buffers.ts";
import type { ArrowBody } from "./arrow-frames.ts";
import { layOut, type Slot } from "./arrow-slots.ts";

/**
 * Checks the buffer sizes of every column of a batch against its rows; for compressed buffers the declared size is used
 * if a frame of that length can hold it.
 * @returns the rest of a sentence when a column holds fewer rows, else undefined
 */
export async function missingRows(
  source: ByteSource,
  body: ArrowBody,
  columns: readonly Column[],
): Promise<string | undefined> {
  // Every row takes at least a bit, even compressed, because it has a picture or a reference to one.
  if (body.buffers.length > 0 && body.rows > 8 * body.bytes) {
    return `declares ${body.rows} rows in a body of ${body.bytes} bytes`;
  }
  for (const slot of layOut(body, columns)) {
    if (body.nodes[slot.node]?.length !== body.rows || !(await holds(source, body, slot, body.rows))) {
      return `declares ${body.rows} rows, but its column ${slot.name} holds fewer`;
    }
  }
  return undefined;
}

/** Whether a column or a part of it has values for this many rows. */
async function holds(source: ByteSource, body: ArrowBody, slot: Slot, rows: number): Promise<boolean> {
  if (rows === 0) return true;
  if ((body.nodes[slot.node]?.length ?? 0) < rows) return false;
  const { type } = slot;
  if (type.kind === "struct" || type.kind === "fixed-list") {
    const each = type.kind === "struct" ? 1 : type.size;
    for (const child of slot.children) if (!(await holds(source, body, child, rows * each))) return false;
    return true;
  }
  const needed = firstBytes(slot, rows);
  if (needed === undefined) return true;
  return (await contentSize(source, body, needed.buffer)) >= needed.bytes;
}

/** The buffer with an entry per row, and its required length; undefined if the type has none. */
function firstBytes({ type, buffer }: Slot, rows: number): { buffer: number; bytes: number } | undefined {
  const after = buffer + 1;
  switch (type.kind) {
    case "null":
    case "run-end":
      return undefined;
    case "bool":
      return { buffer: after, bytes: Math.ceil(rows / 8) };
    case "union":
      return { buffer, bytes: rows };
    case "text":
    case "binary":
      if (type.layout === "view") return { buffer: after, bytes: 16 * rows };
      return { buffer: after, bytes: (rows + 1) * (type.layout === "large" ? 8 : 4) };
    case "list":
      if (type.layout === "view" || type.layout === "large-view") {
        return { buffer: after, bytes: rows * (type.layout === "view" ? 4 : 8) };
      }
      return { buffer: after, bytes: (rows + 1) * (type.layout === "large" ? 8 : 4) };
    case "map":
      return { buffer: after, bytes: (rows + 1) * 4 };
    case "dictionary":
      return { buffer: after, bytes: (rows * type.index.bits) / 8 };
    default:
      return { buffer: after, bytes: rows * (fixedWidth(type) ?? 0) };
  }
}
