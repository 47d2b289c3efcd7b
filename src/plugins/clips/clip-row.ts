/** A row with a list of frames and a list of masks, one masklet with one caption. */
import { toHex } from "../../engine/bytes/hash.ts";
import { stacked } from "../../engine/data/film-strip.ts";
import type { PictureProbe } from "../../engine/data/image/picture.ts";
import { type MaskContext, readMask } from "../../engine/data/mask/mask-read.ts";
import { decodeRle, encodeRle, rleArea } from "../../engine/data/mask/rle.ts";
import type { FrameRegion } from "../../engine/data/readers/reader.ts";
import type { EncodedImage } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";

/**
 * @param items one mask per frame; null if the object is not visible
 * @throws LabError("bad-input") without frames, for different numbers of masks and frames, for several sizes, or for an
 * empty masklet
 */
export async function clipRegion(
  items: readonly unknown[],
  probes: readonly (PictureProbe | LabError)[],
  context: Pick<MaskContext, "find" | "meter">,
): Promise<FrameRegion> {
  checkMaskCount(probes.length, items.length);
  const frames = probes.map((probe, frame) => {
    if (probe instanceof LabError) throw badInput(`frame ${frame}: ${probe.message}`);
    return probe;
  });
  checkFrames(frames);
  const [first] = frames as [PictureProbe];
  const { height, width } = first;
  const parts: Uint8Array[] = [];
  for (const [frame, item] of items.entries()) {
    if (item === null || item === undefined) {
      parts.push(new Uint8Array(height * width));
      continue;
    }
    const mask = await readMask(item, { height, width, ...context });
    const [tall, wide] = mask.size;
    if (tall !== height || wide !== width) {
      const is = `${wide} x ${tall} pixels, the frame ${width} x ${height}`;
      throw badInput(`the mask of frame ${frame} is ${is} (width x height)`);
    }
    parts.push(decodeRle(mask));
  }
  const mask = encodeRle(stacked(parts), height * frames.length, width);
  const area = rleArea(mask);
  if (area === 0) throw badInput(`the masklet is empty on all ${frames.length} frames`);
  const picture = { ...first, orientation: 1, height: height * frames.length, imageId: await idOf(frames) };
  return { mask, area, picture, frames: frames.length };
}

/** One id for a list of pictures, as long as a picture's id. */
async function idOf(frames: readonly PictureProbe[]): Promise<string> {
  const text = new TextEncoder().encode(frames.map(({ imageId }) => imageId).join(" "));
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", text)).subarray(0, 8));
}

/** @throws LabError("bad-input") when there are no frames, more pixels than `MAX_STRIP`, or frames of two sizes */
export function checkFrames(frames: readonly Pick<EncodedImage, "width" | "height">[]): void {
  const [first] = frames;
  if (first === undefined) throw badInput("the clip has no frames");
  const { width, height } = first;
  const other = frames.findIndex((frame) => frame.width !== width || frame.height !== height);
  if (other >= 0) {
    const found = frames[other] as typeof first;
    throw badInput(
      `frame ${other} is ${found.width} x ${found.height} pixels, the clip began with ${width} x ${height}`,
    );
  }
  if (frames.length * width * height > MAX_STRIP) {
    throw badInput(
      `the clip has ${frames.length} frames of ${width} x ${height}, more than ${MAX_STRIP} pixels; store every k-th frame`,
    );
  }
}

/** @throws LabError("bad-input") for different numbers of masks and frames */
export function checkMaskCount(frames: number, masks: number): void {
  if (masks !== frames) throw badInput(`the clip has ${frames} frames and ${masks} masks`);
}

/** Maximum pixels of a strip, which is decoded whole, as is its mask. */
export const MAX_STRIP = 2 ** 25;
