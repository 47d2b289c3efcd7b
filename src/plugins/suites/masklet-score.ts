/** J and F of whole masklets, and their means as the published programs compute them (docs/spec/video.md#11-scores). */

import { decodeRle, maskIou, type Rle, rleArea } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";
import { boundaryScore, type FrameMask, regionSimilarity } from "../clips/boundary.ts";

interface SetScore {
  readonly j: number;
  readonly f: number;
  readonly jf: number;
}

/** Means over frames, 0..1. */
export interface MaskletScore extends SetScore {
  readonly frames: readonly { readonly j: number; readonly f: number }[];
}

/**
 * Mean over all frames, the first and the last included, as the programs for referring segmentation count.
 * @throws LabError("bad-input") for no frames, or different numbers of frames
 */
export function maskletScore(truth: readonly (FrameMask | Rle)[], found: readonly (FrameMask | Rle)[]): MaskletScore {
  if (truth.length === 0 || truth.length !== found.length) {
    throw badInput(`A masklet of ${found.length} frames cannot be scored against ${truth.length}`);
  }
  // One frame is decoded at a time: a clip may have thousands.
  const frames = truth.map((given, at) => {
    const [mask, own] = [frameMask(given), frameMask(found[at] as FrameMask | Rle)];
    return { j: regionSimilarity(mask, own), f: boundaryScore(mask, own).f };
  });
  const [j, f] = [mean(frames.map((frame) => frame.j)), mean(frames.map((frame) => frame.f))];
  return { j, f, jf: (j + f) / 2, frames };
}

/**
 * Means over frames of pixel accuracy (A) and, if the pixels of all objects of each frame are known, of robustness (R):
 * 1 minus the wrongly marked pixels as a share of the objects' pixels, at least 0.
 */
export function pixelScores(
  truth: readonly Rle[],
  found: readonly Rle[],
  foreground?: readonly number[],
): { readonly a: number; readonly r: number | null } {
  const frames = truth.map((given, at) => {
    const own = found[at] as Rle;
    const { intersection, union } = maskIou(given, own);
    const wrong = (rleArea(own) - intersection) / ((foreground?.[at] ?? 0) + 1e-6);
    const pixels = given.size[0] * given.size[1];
    return { a: (pixels - union + intersection) / pixels, r: Math.max(1 - wrong, 0) };
  });
  return { a: mean(frames.map(({ a }) => a)), r: foreground === undefined ? null : mean(frames.map(({ r }) => r)) };
}

function frameMask(mask: FrameMask | Rle): FrameMask {
  if (!("counts" in mask)) return mask;
  const [height, width] = mask.size;
  return { data: decodeRle(mask), height, width };
}

/**
 * @param place start of the sentence @throws LabError("bad-input") when a true mask does not have the size of the
 * frames
 */
export function checkMaskSizes(place: string, masks: readonly Rle[], frames: Rle["size"]): void {
  const other = masks.find(({ size }) => size.join() !== frames.join());
  if (other === undefined) return;
  const [mine, theirs] = [other.size, frames].map(([height, width]) => `${width} x ${height}`);
  throw badInput(`${place}: a mask is ${mine}, the frames are ${theirs}`);
}

/** An expression's scores, with its kind where the data set has kinds. */
interface ScoredExpression extends Pick<MaskletScore, "j" | "f"> {
  /** ReVOS: 0 referring, 1 reasoning; Ref-SAV: 0 long, 1 short. */
  readonly type?: number | undefined;
}

/** Mean over expressions: MeViS, Ref-DAVIS17, Ref-YouTube-VOS. @throws LabError("bad-input") for no expression */
export function meanScore(scores: readonly ScoredExpression[]): SetScore {
  if (scores.length === 0) throw badInput("No expression was scored");
  const [j, f] = [mean(scores.map((score) => score.j)), mean(scores.map((score) => score.f))];
  return { j, f, jf: (j + f) / 2 };
}

/**
 * ReVOS and Ref-SAV: every J and F is rounded to a hundredth of a percent, the mean is taken by kind, and the overall number
 * is the plain mean of both kinds. J&F is the mean of the means of J and F. Kinds other than 0 and 1 do not count.
 * @returns undefined where a kind has no expression
 */
export function scoreByType(
  scores: readonly ScoredExpression[],
): Readonly<Record<"type0" | "type1" | "overall", SetScore | undefined>> {
  const of = (type: number): SetScore | undefined => {
    const own = scores.filter((score) => score.type === type);
    if (own.length === 0) return undefined;
    return meanScore(own.map(({ j, f }) => ({ j: roundedScore(j), f: roundedScore(f) })));
  };
  const [type0, type1] = [of(0), of(1)];
  const overall = type0 === undefined || type1 === undefined ? undefined : meanScore([type0, type1]);
  return { type0, type1, overall };
}

/** The score of a set in percent, as its program reports it: the mean of both kinds where it has them. */
export function scoreLine(scores: readonly ScoredExpression[]): string {
  const kinds = scoreByType(scores).overall;
  const { j, f, jf } = kinds ?? meanScore(scores);
  const percent = (value: number): string => (100 * value).toFixed(2);
  const of = kinds === undefined ? "" : "  (mean of both kinds)";
  return `${scores.length} masklets  J ${percent(j)}  F ${percent(f)}  J&F ${percent(jf)}${of}`;
}

/** A score of 0..1 to a hundredth of a percent, as Python rounds: ties go to the even digit. */
export function roundedScore(value: number): number {
  const percent = 100 * value;
  const middle = Number.isInteger(8 * percent) && !Number.isInteger(4 * percent);
  return (middle ? Math.round(50 * percent) / 50 : Number(percent.toFixed(2))) / 100;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
