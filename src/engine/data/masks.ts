import { isBinaryCell } from "./arrow-cells.ts";
import { parseRle, type Rle, rleFromPolygons } from "./rle.ts";

/**
 * The masks of a row, still as they stand: one for a struct, one per item for a list or a struct of lists. Null items
 * stay in place, so that the index of a mask keeps its meaning. Undefined when the row has no mask at all.
 */
export function splitMasks(cell: unknown): unknown[] | undefined {
  if (cell === null || cell === undefined) return undefined;
  if (typeof cell === "string") {
    const text = cell.trim();
    if (text === "") return undefined;
    try {
      return splitMasks(JSON.parse(text) as unknown);
    } catch {
      // Text that is no JSON stays as one item; reading it gives the sentence.
      return [cell];
    }
  }
  if (Array.isArray(cell)) {
    const list = cell as unknown[];
    if (list.length === 0) return undefined;
    // Polygons of one object: a list of number lists.
    return list.every(isNumbers) ? [list] : list;
  }
  if (typeof cell !== "object") return [cell];
  const { counts, size } = cell as { counts?: unknown; size?: unknown };
  if ((counts === null || counts === undefined) && (size === null || size === undefined)) return undefined;
  const together = Array.isArray(counts) && Array.isArray(size) && (size as unknown[]).some(Array.isArray);
  if (!together) return [cell];
  return (counts as unknown[]).map((item, at) => ({ counts: item, size: (size as unknown[])[at] }));
}

/**
 * One mask as RLE: `{counts, size}` in every form parseRle takes, or polygons drawn at the picture's size.
 * @throws LabError("bad-input") with one sentence
 */
export async function readMask(item: unknown, height: number, width: number): Promise<Rle> {
  if (Array.isArray(item) && item.every(isNumbers)) {
    return rleFromPolygons(
      item.map((polygon) => polygon.map(Number)),
      height,
      width,
    );
  }
  const counts = (item as { counts?: unknown } | null)?.counts;
  if (isBinaryCell(counts)) {
    return parseRle({ counts: await counts.read(), size: (item as { size?: unknown }).size });
  }
  return parseRle(item);
}

function isNumbers(value: unknown): value is (number | bigint)[] {
  return Array.isArray(value) && value.length > 0 && value.every((n) => typeof n === "number" || typeof n === "bigint");
}
