/** Compares two masklets frame by frame. */
import { type FrameMask, regionSimilarity } from "../mask/boundary.ts";
import { decodeRle, type Rle } from "../mask/rle.ts";
import { frameOf } from "./film-strip.ts";

/** One score per frame: null if both masks are empty, undefined if there is no answer yet. */
export type FrameScores = readonly (number | null | undefined)[];

/** Scores of the frames that have one. */
export function knownScores(scores: FrameScores): number[] {
  return scores.filter((score) => typeof score === "number");
}

/**
 * One score per frame, null if both masks are empty.
 * @param frames number of frames in both strips of masks
 * @throws LabError("bad-input") for masks of two sizes
 */
export function frameScores(
  given: Rle,
  found: Rle,
  frames: number,
  compare: (given: FrameMask, found: FrameMask) => number = regionSimilarity,
): (number | null)[] {
  const [height, width] = given.size;
  const [truth, answer] = [decodeRle(given), decodeRle(found)];
  const size = { height: height / frames, width };
  return Array.from({ length: frames }, (_, frame) => {
    const [own, other] = [frameOf(truth, frames, frame), frameOf(answer, frames, frame)];
    if (!own.includes(1) && !other.includes(1)) return null;
    return compare({ data: own, ...size }, { data: other, ...size });
  });
}
