import { Lru } from "../../bytes/lru.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { valueMeter } from "../tables/read-meter.ts";
import type { Table } from "../tables/table.ts";
import { type BatchCells, batchCells } from "./arrow-cells.ts";
import { type ArrowIndex, indexArrow } from "./arrow-index.ts";

/** Number of batches whose small buffers are cached. */
const OPEN_BATCHES = 3;

/** If other batches hold more unpacked bytes than this, they are released before another batch is opened. */
const MAX_KEPT = 2 ** 28;

/** A table over an Arrow file of any size. */
export interface ArrowTable extends Table {
  readonly index: ArrowIndex;
}

/**
 * Opens an Arrow IPC stream or file without loading it.
 * @throws LabError like indexArrow
 */
export async function openArrow(source: ByteSource, signal?: AbortSignal): Promise<ArrowTable> {
  const index = await indexArrow(source, signal);
  const open = new Lru<number, BatchCells>(OPEN_BATCHES);
  const cells = (number: number): BatchCells => {
    const batch = index.batches[number];
    if (batch === undefined) throw new LabError("internal", `${source.name} has no batch ${number}`);
    return open.get(number, () => {
      const kept = [...open.values()].reduce((sum, cells) => sum + cells.unpacked(), 0);
      if (kept > MAX_KEPT) open.clear();
      return batchCells(source, batch, index.columns, batch.dictionaries);
    });
  };
  const { columns, rows, metadata, problem } = index;
  return {
    index,
    columns,
    rows,
    metadata,
    batches: index.batches.length,
    problem,
    cell: (column, row, pass) => {
      const number = groupOf(index.batches, rows, row);
      const batch = index.batches[number];
      if (batch === undefined) {
        return Promise.reject(badInput(`${source.name} has no row ${row}, only ${rows} rows`));
      }
      return cells(number).cell(column, row - batch.firstRow, valueMeter(pass));
    },
  };
}

/**
 * Index of the batch or row group that holds a row, by bisection; -1 if none does.
 * @param groups in order, each with its first row
 */
export function groupOf(groups: readonly { readonly firstRow: number }[], rows: number, row: number): number {
  if (!Number.isInteger(row) || row < 0 || row >= rows) return -1;
  let [low, high] = [0, groups.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((groups[middle]?.firstRow ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  // Empty batches share their first row with the next batch; only the last of these has rows.
  return low;
}
