/**
 * Masklets of a clip as files: run lengths in the form of `npm run masklets`, and a zip of PNGs with values 0 and 255.
 */
import { encode } from "fast-png";
import { zipSync } from "fflate";
import { distinctNames } from "../../engine/bytes/text.ts";
import { frameOf } from "../../engine/data/film-strip.ts";
import { canonicalRuns, decodeRle, eachRun, encodeRle, type Rle, rleFromRuns } from "../../engine/data/mask/rle.ts";

/** Maximum characters of a masklet's folder name. */
const LONGEST_NAME = 60;

/** A masklet with its name, as the mask of its strip of frames. */
export interface NamedMasklet {
  readonly name: string;
  readonly mask: Rle;
}

/** Name of a frame in exports. */
function frameName(frame: number): string {
  return String(frame).padStart(5, "0");
}

/** The mask of each frame of a strip. */
export function frameMasks(strip: Rle, frames: number): Rle[] {
  const [height, width] = strip.size;
  const pixels = decodeRle(strip);
  return Array.from({ length: frames }, (_, at) => encodeRle(frameOf(pixels, frames, at), height / frames, width));
}

/**
 * The inverse of `frameMasks`, computed from runs: the mask of the strip, empty in frames without a mask.
 * @param size of a frame, [height, width]
 */
export function stripOfMasks(masks: readonly (Rle | undefined)[], [height, width]: Rle["size"]): Rle {
  const total = masks.length;
  /** Starts and ends of runs in the strip, by column; sorted, because frames come in order. */
  const columns = Array.from({ length: width }, (): number[] => []);
  masks.forEach((mask, frame) => {
    let position = 0;
    const add = (run: number, index: number): void => {
      const end = position + run;
      if (index % 2 === 0) position = end;
      while (position < end) {
        const column = Math.floor(position / height);
        const stop = Math.min(end, (column + 1) * height);
        const shift = (column * (total - 1) + frame) * height;
        columns[column]?.push(position + shift, stop + shift);
        position = stop;
      }
    };
    if (mask !== undefined) eachRun(mask, add);
  });
  const ends = [0, ...columns.flat(), total * height * width];
  const runs = ends.slice(1).map((end, at) => end - (ends[at] as number));
  return rleFromRuns(canonicalRuns(runs), total * height, width);
}

/** `{size, frames, names, objects}`: objects in the order of names, each with one run-length mask per frame. */
export function maskletsJson(masklets: readonly NamedMasklet[], frames: number): string {
  const objects = masklets.map(({ mask }) => frameMasks(mask, frames));
  const names = masklets.map(({ name }) => name);
  return `${JSON.stringify({
    size: objects[0]?.[0]?.size ?? [],
    frames: Array.from({ length: frames }, (_, at) => frameName(at)),
    names,
    objects,
  })}\n`;
}

/** A zip with one grey PNG per frame and masklet, `<name>/<frame>.png`; every masklet has a folder. */
export function maskletsZip(masklets: readonly NamedMasklet[], frames: number): Uint8Array<ArrayBuffer> {
  const files: Record<string, Uint8Array> = {};
  const distinct = distinctNames();
  for (const { name, mask } of masklets) {
    const [height, width] = mask.size;
    const strip = decodeRle(mask).map((pixel) => 255 * pixel);
    const folder = distinct(name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").slice(0, LONGEST_NAME) || "masklet");
    for (let at = 0; at < frames; at++) {
      const data = frameOf(strip, frames, at);
      files[`${folder}/${frameName(at)}.png`] = encode({ width, height: height / frames, data, channels: 1, depth: 8 });
    }
  }
  // PNG is already compressed.
  return zipSync(files, { level: 0 });
}
