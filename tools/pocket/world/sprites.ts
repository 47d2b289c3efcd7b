/** The drawings as pixels, recoloured: one picture for all kinds, read once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import { root } from "../../../scripts/lib/ensure.mjs";
import { ALL_KINDS, COLOURS, type Colour, type Kind } from "./kinds.ts";

/** Pixels of one drawing; drawings are in rows of COLUMNS, in the order of ALL_KINDS. */
export const SPRITE_SIDE = 112;
export const COLUMNS = 7;
export const SPRITES_PATH = "tools/pocket/world/sprites.png";

/** Straight (not premultiplied) RGBA, row-major, SPRITE_SIDE². */
export type Sprite = Uint8Array;

let sheet: ReturnType<typeof decode> | undefined;
const made = new Map<string, Sprite>();

/** @param index in ALL_KINDS */
export function sprite(index: number, colour: Colour): Sprite {
  const key = `${index} ${colour}`;
  const before = made.get(key);
  if (before !== undefined) return before;
  const own = recolour(cut(index), ALL_KINDS[index] as Kind, colour);
  made.set(key, own);
  return own;
}

function cut(index: number): Sprite {
  sheet ??= decode(readFileSync(join(root, SPRITES_PATH)));
  const left = (index % COLUMNS) * SPRITE_SIDE;
  const top = Math.floor(index / COLUMNS) * SPRITE_SIDE;
  const out = new Uint8Array(SPRITE_SIDE * SPRITE_SIDE * 4);
  for (let y = 0; y < SPRITE_SIDE; y++) {
    const from = ((top + y) * sheet.width + left) * 4;
    out.set(sheet.data.subarray(from, from + SPRITE_SIDE * 4), y * SPRITE_SIDE * 4);
  }
  return out;
}

/** Below this saturation a pixel is outline or highlight and keeps its gray. */
const GRAY = 0.12;

/** Shifts hue, saturation and lightness of the coloured parts so that their flat colour becomes the wanted one. */
function recolour(pixels: Sprite, kind: Kind, colour: Colour): Sprite {
  const out = pixels.slice();
  const [hue, saturation, lightness] = COLOURS[colour];
  const [, saturationBefore, lightnessBefore] = kind.drawn;
  const [from, to] = kind.hues;
  for (let at = 0; at < out.length; at += 4) {
    if (out[at + 3] === 0) continue;
    const [h, s, l] = toHsl(out[at] as number, out[at + 1] as number, out[at + 2] as number);
    const inside = from <= to ? h >= from && h <= to : h >= from || h <= to;
    if (!inside || s < GRAY) continue;
    const light =
      l < lightnessBefore ? (l * lightness) / lightnessBefore : 1 - ((1 - l) * (1 - lightness)) / (1 - lightnessBefore);
    out.set(toRgb(hue, Math.min(1, (s * saturation) / saturationBefore), light), at);
  }
  return out;
}

/** @returns hue in degrees, saturation and lightness in 0..1 */
function toHsl(red: number, green: number, blue: number): [number, number, number] {
  const [r, g, b] = [red / 255, green / 255, blue / 255];
  const [high, low] = [Math.max(r, g, b), Math.min(r, g, b)];
  const range = high - low;
  const l = (high + low) / 2;
  if (range === 0) return [0, 0, l];
  const s = range / (1 - Math.abs(2 * l - 1));
  const sector = high === r ? (g - b) / range : high === g ? (b - r) / range + 2 : (r - g) / range + 4;
  return [(sector * 60 + 360) % 360, s, l];
}

function toRgb(h: number, s: number, l: number): [number, number, number] {
  const reach = s * Math.min(l, 1 - l);
  const channel = (n: number): number => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
