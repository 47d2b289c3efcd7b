/**
 * Matches stored rows with open rows. Row ids are a file path and a position, which two data sets may share, so pictures
 * and lists of rows are compared by content.
 */
import { sha256Hex } from "../bytes/hash.ts";
import { badInput } from "../errors.ts";
import type { RegionSummary } from "./sample.ts";

/** A stored reference to a row. */
interface StoredRow {
  readonly rowId: string;
  /** Null if the picture was not recorded. */
  readonly imageId: string | null;
}

/** Whether an open row has the id and, if known, the picture of a stored row. */
export function isStoredRow(row: Pick<RegionSummary, "id" | "imageId">, { rowId, imageId }: StoredRow): boolean {
  return row.id === rowId && (imageId === null || row.imageId === imageId);
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
