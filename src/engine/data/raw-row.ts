import { badInput, LabError } from "../errors.ts";
import type { RegionSet } from "./region-set.ts";
import type { RegionSummary } from "./sample.ts";
import { type Cell, isBinaryCell } from "./tables/table.ts";

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
