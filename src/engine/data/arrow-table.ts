import type { ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type BatchCells, batchCells, type Cell } from "./arrow-cells.ts";
import { type ArrowIndex, indexArrow } from "./arrow-index.ts";
import { typeName } from "./arrow-types.ts";

/** Batches whose small buffers are kept at a time; rows are mostly read in order or at random over a shard. */
const OPEN_BATCHES = 3;

export interface ArrowColumn {
  readonly name: string;
  /** In words, see typeName. */
  readonly type: string;
  readonly nullable: boolean;
}

/** A table over an Arrow file of any size: values are fetched one by one. */
export interface ArrowTable {
  readonly index: ArrowIndex;
  readonly columns: readonly ArrowColumn[];
  readonly rows: number;
  /** Value of a column (by place in `columns`) at a row of the file. @throws LabError when damaged or not supported */
  cell(column: number, row: number): Promise<Cell>;
}

/**
 * Opens an Arrow IPC stream or file without loading it.
 * @throws LabError as indexArrow does
 */
export async function openArrow(source: ByteSource, options: { signal?: AbortSignal } = {}): Promise<ArrowTable> {
  const index = await indexArrow(source, options);
  const open = new Map<number, BatchCells>();
  const cells = (number: number): BatchCells => {
    let known = open.get(number);
    const batch = index.batches[number];
    if (batch === undefined) throw new LabError("internal", `${source.name} has no batch ${number}`);
    known ??= batchCells(source, batch, index.fields, batch.dictionaries);
    // Re-inserting makes the map a queue from least to most recently used.
    open.delete(number);
    open.set(number, known);
    if (open.size > OPEN_BATCHES) open.delete(open.keys().next().value as number);
    return known;
  };
  return {
    index,
    columns: index.fields.map((field) => ({
      name: field.name,
      type: typeName(field.type),
      nullable: field.nullable,
    })),
    rows: index.rows,
    cell: (column, row) => {
      const number = batchOf(index, row);
      const batch = index.batches[number];
      if (batch === undefined) {
        return Promise.reject(new LabError("bad-input", `${source.name} has no row ${row}, only ${index.rows} rows`));
      }
      return cells(number).cell(column, row - batch.firstRow);
    },
  };
}

/** Number of the batch that holds a row, by bisection; -1 when there is none. */
function batchOf(index: ArrowIndex, row: number): number {
  if (!Number.isInteger(row) || row < 0 || row >= index.rows) return -1;
  let [low, high] = [0, index.batches.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((index.batches[middle]?.firstRow ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  // Empty batches share their first row with the next: the last of them is the one with rows.
  return low;
}
