/** Chooses the frames of a clip that a step or an evaluation uses. */
import type { LabConfig } from "../../config/table.ts";
import { visibleFrames } from "../../data/clips/film-strip.ts";
import { withFrames } from "../../data/clips/row-frames.ts";
import type { RowSource } from "../../data/training-row.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import { chosenFrames } from "../../policy/clip/frames.ts";

/** Minimum share of drawn frames that show the object, if the clip has enough of them. */
const VISIBLE = 0.6;

type Frames = Pick<LabConfig, "clipFrames" | "seed">;

/**
 * Rows with frames drawn for a step; pictures are unchanged. All rollouts of a row and the partner use the same frames,
 * so that the choice of frames affects no advantage.
 */
export function stepRows(rows: RowSource, { clipFrames, seed }: Frames, step: number): RowSource {
  return async (index) => {
    const row = await rows(index);
    const { frames: total } = row.summary;
    if (total === undefined) return row;
    const draw = (position: number): number =>
      uniform({ seed, step, loop: 0, row: index, rollout: 0, position, stream: STREAM.data });
    return withFrames(row, drawnFrames(visibleFrames(row.mask, total), total, clipFrames, draw));
  };
}

/** Rows with evenly spread frames, the same at every evaluation; pictures are unchanged. */
export function evaluationRows(rows: RowSource, { clipFrames: count }: Pick<Frames, "clipFrames">): RowSource {
  return async (index) => {
    const row = await rows(index);
    const { frames } = row.summary;
    return frames === undefined ? row : withFrames(row, chosenFrames(frames, { kind: "uniform", count }));
  };
}

/** `count` different frames, or all there are, ascending; at least `VISIBLE` of them from `visible`. @param draw in (0, 1) */
export function drawnFrames(
  visible: readonly number[],
  total: number,
  count: number,
  draw: (position: number) => number,
): number[] {
  const order = Array.from({ length: total }, (_, frame) => ({ frame, at: draw(frame) })).sort((a, b) => a.at - b.at);
  const shuffled = order.map(({ frame }) => frame);
  const most = Math.min(count, total);
  const sure = shuffled.filter((frame) => visible.includes(frame)).slice(0, Math.ceil(VISIBLE * most));
  const rest = shuffled.filter((frame) => !sure.includes(frame));
  return [...sure, ...rest].slice(0, most).sort((a, b) => a - b);
}
