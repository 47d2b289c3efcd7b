/** Segmentations of COCO files as masks in a supported form. */
import { isRecord } from "../../bytes/json.ts";
import { LabError } from "../../errors.ts";
import { parseRle, type Rle, rleFromPolygons } from "../mask/rle.ts";
import { mergeRles } from "../mask/rle-compare.ts";

/** Whether a value is run lengths. */
function isRuns(value: unknown): boolean {
  return isRecord(value) && "counts" in value;
}

/**
 * A segmentation as one mask: run lengths unchanged, a list of them united, polygons with the size that the record
 * states, if any; null if there is none; the error of a list of run lengths that are damaged or of different sizes, so
 * that only its region is lost.
 * @param stated the record of the picture
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
  const runs = segmentation as unknown[];
  return runs.length === 0 ? null : orItsError(() => mergeRles(runs.map(parseRle), "union"));
}

/** The result, or the error of a damaged mask in its place. */
function orItsError<T>(make: () => T): T | LabError {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof LabError) return thrown;
    throw thrown;
  }
}

/** Several segmentations of one picture as one mask; null for none, the error of a damaged one. */
export function unitedMask(segmentations: readonly unknown[], height: number, width: number): Rle | LabError | null {
  return orItsError(() => {
    const masks = segmentations.map((segmentation) => {
      const mask = maskOf(segmentation);
      if (mask instanceof LabError) throw mask;
      if (isRuns(mask)) return parseRle(mask);
      return rleFromPolygons(Array.isArray(mask) ? (mask as number[][]) : [], height, width);
    });
    return masks.length === 0 ? null : mergeRles(masks, "union");
  });
}
