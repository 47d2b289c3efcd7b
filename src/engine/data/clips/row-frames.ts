/** Restricts the row of a clip to the frames that a step uses. */
import { encodeRle } from "../mask/rle.ts";
import type { TrainingRow } from "../training-row.ts";
import { type FrameView, unviewed, viewed } from "./film-strip.ts";

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
export function clipFact({ view }: Pick<TrainingRow, "view">): { readonly frames?: number } {
  return view === undefined ? {} : { frames: view.total };
}
