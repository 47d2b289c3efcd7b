/** COCO compressed run-length mask; `size` is [height, width], runs are column-major (reference: rewards.md §1). */
export interface Rle {
  readonly size: readonly [number, number];
  readonly counts: string;
}
