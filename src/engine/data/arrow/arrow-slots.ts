import type { Column, ColumnType } from "../tables/column-type.ts";
import type { ArrowBody } from "./arrow-frames.ts";

/** A column or child within one batch: its node and buffers in the header. */
export interface Slot {
  readonly type: ColumnType;
  readonly name: string;
  readonly node: number;
  /** Index of its first buffer. */
  readonly buffer: number;
  /** Number of data buffers of a view column. */
  readonly extra: number;
  readonly children: readonly Slot[];
}

/** Assigns the nodes and buffers of a batch header to the columns, depth first, as in the IPC format. */
export function layOut(body: ArrowBody, columns: readonly Column[]): Slot[] {
  let [node, buffer, variadic] = [0, 0, 0];
  const visit = ({ type, name }: Column): Slot => {
    const own = { type, name, node: node++, buffer };
    const isView = (type.kind === "text" || type.kind === "binary") && type.layout === "view";
    const extra = isView ? (body.variadicCounts[variadic++] ?? 0) : 0;
    buffer += rawBuffers(type) + extra;
    return { ...own, extra, children: childrenOf(type).map(visit) };
  };
  return columns.map(visit);
}

function childrenOf(type: ColumnType): readonly Column[] {
  switch (type.kind) {
    case "list":
    case "fixed-list":
    case "map":
      return [type.item];
    case "struct":
    case "union":
      return type.fields;
    case "run-end":
      return [type.ends, type.values];
    default:
      return [];
  }
}

/** Buffers of a column itself: validity first, if it has one. */
function rawBuffers(type: ColumnType): number {
  switch (type.kind) {
    case "null":
    case "run-end":
      return 0;
    case "struct":
    case "fixed-list":
      return 1;
    case "text":
    case "binary":
      return type.layout === "view" ? 2 : 3;
    case "list":
      return type.layout === "view" || type.layout === "large-view" ? 3 : 2;
    case "union":
      // Type ids, and offsets for dense unions; unions have no validity buffer.
      return type.dense ? 2 : 1;
    default:
      return 2;
  }
}
