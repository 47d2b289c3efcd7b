import type { RowScores } from "./evaluations.ts";

/** Number of pictures of the report rows. */
export function reportPictures(rows: readonly RowScores[]): number {
  return new Set(rows.filter(({ part }) => part !== "selection").map(imageOf)).size;
}

/** The image of a row; a row of an older version, which did not store it, counts as a separate image. */
export function imageOf({ imageId, rowId }: Pick<RowScores, "imageId" | "rowId">): string {
  return imageId ?? rowId;
}
