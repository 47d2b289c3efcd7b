/** Opens files of rows of any container. */
import type { ByteSource } from "../../bytes/source.ts";
import { openArrow } from "../arrow/arrow-table.ts";
import { openParquet } from "../parquet/table.ts";
import { withMeanings } from "./meanings.ts";
import type { Table } from "./table.ts";

/**
 * Opens a file of rows, Arrow or Parquet by its first bytes, without loading it.
 * @throws LabError("bad-input") for an unsupported format; LabError("cancelled") when the signal aborts
 */
export async function openTable(source: ByteSource, signal?: AbortSignal): Promise<Table> {
  const magic = String.fromCharCode(...(await source.read(0, Math.min(4, source.size))));
  const stored = magic === "PAR1" || magic === "PARE" ? await openParquet(source) : await openArrow(source, signal);
  return withMeanings(stored);
}
