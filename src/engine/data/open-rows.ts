/**
 * Whether a stored row is one of those that are open. Row ids are a file's path and a place in it, so that two data
 * sets may share them; pictures and lists of rows are told apart by their content.
 */
import { sha256Hex } from "../bytes/hash.ts";
import { LabError } from "../errors.ts";
import type { RegionSummary } from "./sample.ts";

/** A row as something stored names it. */
export interface StoredRow {
  readonly rowId: string;
  /** Null where what is stored does not say which picture it was. */
  readonly imageId: string | null;
}

/** Whether an open row has the id and, where that is known, the picture of a stored one. */
export function isStoredRow(row: Pick<RegionSummary, "id" | "imageId">, { rowId, imageId }: StoredRow): boolean {
  return row.id === rowId && (imageId === null || row.imageId === imageId);
}

/**
 * The open row of that id and picture.
 * @param imageId null takes whatever picture the row has
 * @throws LabError("bad-input") when no such row is open
 */
export function findRow<T extends Pick<RegionSummary, "id" | "imageId">>(
  byId: ReadonlyMap<string, T>,
  rowId: string,
  imageId: string | null,
): T {
  const row = byId.get(rowId);
  if (row === undefined) {
    throw new LabError("bad-input", `Row ${rowId} is not in the open data set`, { subject: rowId });
  }
  if (isStoredRow(row, { rowId, imageId })) return row;
  throw new LabError(
    "bad-input",
    `Row ${rowId} of the open data set has another picture; open the data set that it was drawn from`,
    { subject: rowId },
  );
}

/** SHA-256 over ids and pictures of all rows in order, as 64 hexadecimal digits: what a run's manifest keeps. */
export async function rowsHash(rows: readonly (readonly [rowId: string, imageId: string])[]): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify(rows)));
}
