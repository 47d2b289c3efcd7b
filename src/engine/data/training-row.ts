/** A row for the trainer, and the frames of it that a step uses. */
import { type FrameView, unviewed, viewed } from "./film-strip.ts";
import { encodeRle } from "./mask/rle.ts";
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

/** A clip's row without the masks of other frames, which are neither shown nor scored. */
export function withFrames(row: TrainingRow, frames: readonly number[]): TrainingRow {
  const { height, width } = row.rgb;
  const view = { total: row.summary.frames ?? 1, frames };
  const mask = unviewed(viewed(row.mask, view), view);
  return { ...row, mask, summary: { ...row.summary, mask: encodeRle(mask, height, width) }, view };
}

/** Size of a row's picture, covering only the frames of a clip that have masks. */
export function rowSize({ rgb: { height, width }, view }: TrainingRow): {
  readonly height: number;
  readonly width: number;
  readonly view: FrameView | undefined;
} {
  return { height, width, view };
}

/** Number of frames in each mask strip of a rollout; nothing for a picture. */
export function stripFrames({ view }: Pick<TrainingRow, "view">): { readonly frames?: number } {
  return view === undefined ? {} : { frames: view.total };
}
