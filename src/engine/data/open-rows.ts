/**
 * Matches stored rows with open rows. Row ids are a file path and a position, which two data sets may share, so pictures
 * and lists of rows are compared by content.
 */

import { sha256Hex } from "../bytes/hash.ts";
import { badInput, LabError } from "../errors.ts";
import type { RegionSet } from "./region-set.ts";
import type { RegionSummary } from "./sample.ts";
import { type Cell, isBinaryCell } from "./tables/table.ts";

/** A stored reference to a row. */
interface StoredRow {
  readonly rowId: string;
  /** None if the picture was not recorded. */
  readonly imageId?: string | null | undefined;
}

/** Whether an open row has the id and, if known, the picture of a stored row. */
export function isStoredRow(row: Pick<RegionSummary, "id" | "imageId">, { rowId, imageId }: StoredRow): boolean {
  return row.id === rowId && (imageId == null || row.imageId === imageId);
}

/**
 * The open row with this id and picture.
 * @param imageId null accepts any picture
 * @throws LabError("bad-input") if the row is not open
 */
export function findRow<T extends Pick<RegionSummary, "id" | "imageId">>(
  byId: ReadonlyMap<string, T>,
  rowId: string,
  imageId: string | null,
): T {
  const row = byId.get(rowId);
  if (row === undefined) throw badInput(`Row ${rowId} is not in the open data set`, rowId);
  if (isStoredRow(row, { rowId, imageId })) return row;
  throw badInput(`Row ${rowId} of the open data set has another picture; open the data set of the run`, rowId);
}

/** SHA-256 over ids and pictures of all rows in order, as 64 hexadecimal digits; stored in a run's manifest. */
export async function rowsHash(rows: readonly (readonly [rowId: string, imageId: string])[]): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify(rows)));
}

/**
 * A row of a shard as indented JSON text, every column as stored: binary becomes its length, 64-bit integers text.
 * @throws LabError("bad-input") when there is no such file or row
 */
export async function rawRow(set: Pick<RegionSet, "table">, file: string, row: number): Promise<string> {
  const table = set.table(file);
  if (table === undefined) throw badInput(`${file} is not among the opened files`, file);
  if (!Number.isInteger(row) || row < 0 || row >= table.rows) {
    throw badInput(`${file} has ${table.rows} rows, there is no row ${row}`, file);
  }
  const record: Record<string, unknown> = {};
  for (const [at, column] of table.columns.entries()) {
    try {
      record[column.name] = plain(await table.cell(at, row));
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      record[column.name] = `(cannot be read: ${thrown.message})`;
    }
  }
  return JSON.stringify(record, null, 2);
}

function plain(cell: Cell | LabError): unknown {
  if (cell instanceof LabError) return `(${cell.message})`;
  if (typeof cell === "bigint") return cell.toString();
  if (typeof cell === "number" && !Number.isFinite(cell)) return String(cell);
  if (cell === null || typeof cell !== "object") return cell;
  if (isBinaryCell(cell)) return `(${cell.length} bytes)`;
  if (Array.isArray(cell)) return (cell as readonly Cell[]).map(plain);
  return Object.fromEntries(Object.entries(cell as Record<string, Cell>).map(([key, value]) => [key, plain(value)]));
}

/** Captions of the other regions of a row's picture, each once, in data-set order, without the row's caption. */
export function otherCaptions(summaries: readonly RegionSummary[], index: number): string[] {
  const own = summaries[index];
  if (own === undefined) return [];
  const found = new Set<string>();
  for (const { imageId, caption } of summaries) if (imageId === own.imageId) found.add(caption);
  found.delete(own.caption);
  return [...found];
}
