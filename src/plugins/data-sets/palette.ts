/** Reads a palette PNG as object numbers; a browser's decoder would give colours instead. */

import { decodePng } from "../../engine/data/image/png-decode.ts";
import { unpacked } from "../../engine/data/mask/mask-picture.ts";
import { badInput } from "../../engine/errors.ts";

interface PaletteMask {
  readonly height: number;
  readonly width: number;
  /** Palette entry, or grey value, of every pixel. */
  readonly indices: Uint8Array;
}

/** @throws LabError("bad-input") naming the file when it is damaged or contains colours */
export function paletteIndices(bytes: Uint8Array, name: string): PaletteMask {
  const png = decodePng(bytes, `mask's (${name})`);
  if (png.palette === undefined && (png.channels !== 1 || png.depth > 8)) {
    throw badInput(`${name} contains colours instead of object numbers; a PNG with a palette is needed`, name);
  }
  return { height: png.height, width: png.width, indices: Uint8Array.from(unpacked(png)) };
}
