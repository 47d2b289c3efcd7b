import type { RowScores } from "../runs/evaluations/evaluations.ts";

/** The image of a row; a row of an older version, which did not store it, counts as a separate image. */
export function imageOf({ imageId, rowId }: Pick<RowScores, "imageId" | "rowId">): string {
  return imageId ?? rowId;
}
