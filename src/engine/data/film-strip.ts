/**
 * A clip as one picture: its frames below each other, and its masklet as one mask of that size. Rows are contiguous, so
 * a frame is a slice, and code that compares or stores masks needs no separate form for clips.
 */
import { badInput } from "../errors.ts";
import type { ImageDecoder, RegionSample, RgbImage } from "./sample.ts";

/** Numbers of the frames of a row that a step uses, ascending, out of `total`. */
export interface FrameView {
  readonly total: number;
  readonly frames: readonly number[];
}

/** The view of a single picture. */
export const ONE_PICTURE: FrameView = { total: 1, frames: [0] };

/** The part of a strip with frame `frame` of `total`; shares the strip's memory. */
export function frameOf<T extends Uint8Array>(strip: T, total: number, frame: number): T {
  const each = strip.length / total;
  return strip.subarray(frame * each, (frame + 1) * each) as T;
}

/** One frame of a strip as a picture; shares the strip's memory. */
export function framePixels({ width, height, data }: RgbImage, total: number, frame: number): RgbImage {
  return { width, height: height / total, data: frameOf(data, total, frame) };
}

/** The frames of a view, one after the other. */
export function viewed(strip: Uint8Array, { total, frames }: FrameView): Uint8Array {
  if (frames.length === total) return strip;
  return stacked(frames.map((frame) => frameOf(strip, total, frame)));
}

/** The inverse of `viewed`: a strip of all frames, empty in frames outside the view. */
export function unviewed(part: Uint8Array, { total, frames }: FrameView): Uint8Array {
  if (frames.length === total) return part;
  const each = part.length / frames.length;
  const strip = new Uint8Array(each * total);
  frames.forEach((frame, at) => {
    strip.set(part.subarray(at * each, (at + 1) * each), frame * each);
  });
  return strip;
}

/** Numbers of the frames on which a masklet is not empty. */
export function visibleFrames(mask: Uint8Array, total: number): number[] {
  return Array.from({ length: total }, (_, frame) => frame).filter((frame) => frameOf(mask, total, frame).includes(1));
}

/**
 * The pixels of a sample, frames below each other.
 * @throws LabError("bad-input") for frames of different sizes
 */
export async function decodeSample(
  { image, frames = [image] }: Pick<RegionSample, "image" | "frames">,
  decode: ImageDecoder,
): Promise<RgbImage> {
  const pictures: RgbImage[] = [];
  for (const frame of frames) pictures.push(await decode(frame));
  const [first] = pictures as [RgbImage, ...RgbImage[]];
  if (pictures.length === 1) return first;
  return {
    width: first.width,
    height: first.height * pictures.length,
    data: stacked(pictures.map(({ data }) => data)),
  };
}

/** Concatenates parts of equal length. */
export function stacked(parts: readonly Uint8Array[]): Uint8Array {
  const each = parts[0]?.length ?? 0;
  const strip = new Uint8Array(each * parts.length);
  parts.forEach((part, at) => {
    strip.set(part, at * each);
  });
  return strip;
}

/** Frames of a clip for the language model (docs/spec/video.md#10-clips-and-prompts); `first`: Sa2VA's inference; `uniform`: Sa2VA-i's; `every`: the first ones of every k-th frame. */
export type FrameChoice =
  | { readonly kind: "first"; readonly count: number }
  | { readonly kind: "uniform"; readonly count: number }
  | { readonly kind: "every"; readonly count: number; readonly step: number };

/**
 * Frame numbers, ascending, each once.
 * @throws LabError("bad-input") for a clip without frames
 */
export function chosenFrames(total: number, choice: FrameChoice): number[] {
  if (total < 1) throw badInput("The clip has no frames; nothing was tracked");
  const { kind, count } = choice;
  const step = kind === "first" ? 1 : kind === "every" ? choice.step : (total - 1) / Math.max(count - 1, 1);
  // As in numpy's linspace: each product is rounded as computed, and the last value is exact.
  const last = kind === "uniform" && count > 1 ? count - 1 : undefined;
  const frames = Array.from({ length: count }, (_, at) => (at === last ? total - 1 : Math.trunc(at * step)));
  return [...new Set(frames)].filter((frame) => frame < total);
}
