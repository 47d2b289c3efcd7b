/** Segmentations of COCO files as masks in a supported form. */
import { isRecord } from "../../bytes/json.ts";
import { parseRle, type Rle, rleFromPolygons } from "../mask/rle.ts";
import { mergeRles } from "../mask/rle-compare.ts";

/** Whether a value is run lengths. */
function isRuns(value: unknown): boolean {
  return isRecord(value) && "counts" in value;
}

/**
 * A segmentation as one mask: run lengths unchanged, a list of them united, polygons with the size that the record
 * states, if any; null if there is none.
 * @param stated the record of the picture
 * @throws LabError("bad-input") when run lengths of a list are damaged or of different sizes
 */
export function maskOf(
  segmentation: unknown,
  stated: { readonly height?: unknown; readonly width?: unknown } = {},
): unknown {
  if (segmentation === undefined || segmentation === null) return null;
  if (!Array.isArray(segmentation)) return segmentation;
  if (!segmentation.every(isRuns)) {
    const size = [stated.height, stated.width];
    const known = size.every((side) => Number.isInteger(side) && Number(side) > 0);
    return known ? { polygons: segmentation, size } : segmentation;
  }
  return segmentation.length === 0 ? null : mergeRles(segmentation.map(parseRle), "union");
}

/**
 * Several segmentations of one picture as one mask.
 * @throws LabError("bad-input") when one of them is damaged
 */
export function unitedMask(segmentations: readonly unknown[], height: number, width: number): Rle | null {
  const masks = segmentations.map((segmentation) => {
    const mask = maskOf(segmentation);
    if (isRuns(mask)) return parseRle(mask);
    return rleFromPolygons(Array.isArray(mask) ? (mask as number[][]) : [], height, width);
  });
  return masks.length === 0 ? null : mergeRles(masks, "union");
}
