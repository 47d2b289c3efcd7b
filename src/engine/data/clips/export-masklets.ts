/** Masklets of a clip as files: run lengths in the form of `npm run masklets`, and a zip of PNG of 0 and 255. */
import { encode } from "fast-png";
import { zipSync } from "fflate";
import { decodeRle, encodeRle, type Rle } from "../mask/rle.ts";
import { frameOf } from "./film-strip.ts";

/** A masklet as the mask of its strip of frames, with a name. */
export interface NamedMasklet {
  readonly name: string;
  readonly mask: Rle;
}

/** Name of a frame in exports. */
export function frameName(frame: number): string {
  return String(frame).padStart(5, "0");
}

/** The mask of each frame of a strip. */
export function frameMasks(strip: Rle, frames: number): Rle[] {
  const [height, width] = strip.size;
  const pixels = decodeRle(strip);
  return Array.from({ length: frames }, (_, at) => encodeRle(frameOf(pixels, frames, at), height / frames, width));
}

/** `{size, frames, names, objects}`: objects in the order of names, each with one run-length mask a frame. */
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

/** A zip with one grey PNG a frame and masklet, `<name>/<frame>.png`. */
export function maskletsZip(masklets: readonly NamedMasklet[], frames: number): Uint8Array<ArrayBuffer> {
  const files: Record<string, Uint8Array> = {};
  for (const { name, mask } of masklets) {
    const [height, width] = mask.size;
    const strip = decodeRle(mask).map((pixel) => 255 * pixel);
    for (let at = 0; at < frames; at++) {
      const data = frameOf(strip, frames, at);
      const path = `${name.replaceAll(" ", "-")}/${frameName(at)}.png`;
      files[path] = encode({ width, height: height / frames, data, channels: 1, depth: 8 });
    }
  }
  // PNG is compressed already.
  return zipSync(files, { level: 0 });
}
