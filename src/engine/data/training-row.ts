import type { FrameView } from "./clips/film-strip.ts";
import type { RegionSummary, RgbImage } from "./sample.ts";

/** A row with its decoded picture and mask, for the trainer. */
export interface TrainingRow {
  readonly summary: RegionSummary;
  readonly rgb: RgbImage;
  /** 0/1 per pixel, row-major, height · width. */
  readonly mask: Uint8Array;
  /** Captions of the other regions of the picture, without the row's caption; absent if they are not known. */
  readonly others?: readonly string[];
  /** The frames of a clip that a step uses; absent for a picture. */
  readonly view?: FrameView;
}

/** Fetches a row by its index in the data set. */
export type RowSource = (index: number) => Promise<TrainingRow>;
