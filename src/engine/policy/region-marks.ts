/**
 * Regions drawn into the picture that the vision tower sees, for models without region tokens. SAM2 sees
 * the plain picture (docs/spec/qwen-vl.md#8-region-prompt-for-loop-1).
 */
import type { LabConfig } from "../config/table.ts";
import type { RgbImage } from "../data/sample.ts";
import { type RegionPrompt, regionPromptOf, type Sa2vaConfig } from "../model/config.ts";

/** A mark that is drawn. */
export type RegionMark = Exclude<RegionPrompt, "tokens">;

/** The settings that decide how pictures become features. */
export function pictureSettings(
  model: Pick<Sa2vaConfig, "regionPrompt">,
  config: Pick<LabConfig, "regionPrompt" | "resizeTwice">,
): { readonly regionPrompt: RegionPrompt; readonly resizeTwice: boolean } {
  return { regionPrompt: regionPromptOf(model, config.regionPrompt), resizeTwice: config.resizeTwice };
}

/** Colour of an outline. */
const RED = [255, 0, 0] as const;
/** Width of an outline as a share of the picture's shorter side. */
const LINE = 1 / 120;
/** What is left of the brightness outside a region. */
const DIMMED = 0.35;

/**
 * A copy of the picture with a region outlined in red, or with everything else dimmed. The outline lies on both sides of
 * the region's edge.
 * @param mask 0/1 per pixel, row-major
 */
export function markedPicture({ width, height, data }: RgbImage, mask: Uint8Array, mark: RegionMark): RgbImage {
  const drawn = data.slice();
  if (mark === "dim") {
    for (let at = 0; at < mask.length; at++) {
      if (mask[at] !== 0) continue;
      for (let c = 3 * at; c < 3 * at + 3; c++) drawn[c] = Math.round((drawn[c] as number) * DIMMED);
    }
    return { width, height, data: drawn };
  }
  const reach = Math.max(1, Math.round((LINE * Math.min(width, height)) / 2));
  const [grown, shrunk] = [spread(mask, width, height, reach, 1), spread(mask, width, height, reach, 0)];
  for (let at = 0; at < mask.length; at++) {
    if (grown[at] === 1 && shrunk[at] === 0) drawn.set(RED, 3 * at);
  }
  return { width, height, data: drawn };
}

/**
 * Pixels within `reach` of one inside the mask (`value` 1), or farther than that from any outside (`value` 0), in a square
 * neighbourhood; beyond the picture nothing is outside.
 */
function spread(mask: Uint8Array, width: number, height: number, reach: number, value: 0 | 1): Uint8Array {
  const along = (from: (line: number, at: number) => number, lines: number, length: number, source: Uint8Array) => {
    const out = new Uint8Array(source.length);
    for (let line = 0; line < lines; line++) {
      // Steps since and until the nearest pixel of the value.
      let near = Number.POSITIVE_INFINITY;
      const hit = new Uint8Array(length);
      for (const forward of [true, false]) {
        near = Number.POSITIVE_INFINITY;
        for (let n = 0; n < length; n++) {
          const at = forward ? n : length - 1 - n;
          near = (source[from(line, at)] === 0 ? 0 : 1) === value ? 0 : near + 1;
          if (near <= reach) hit[at] = 1;
        }
      }
      for (let at = 0; at < length; at++) out[from(line, at)] = hit[at] === 1 ? value : 1 - value;
    }
    return out;
  };
  const rows = along((line, at) => line * width + at, height, width, mask);
  return along((line, at) => at * width + line, width, height, rows);
}
