/** Masks that are stored as pictures. */
import type { DecodedPng } from "fast-png";
import { IS_POINTER, isPointer } from "../../bytes/git-lfs.ts";
import { badInput, LabError } from "../../errors.ts";
import { decodePng, isPng } from "../image/png-decode.ts";
import { bitmapRle, type LabelSet, LEVELS, labelSet, type SeenLabels, topOf } from "./mask-bitmap.ts";
import { isTiff, readTiffMask } from "./mask-tiff.ts";
import { encodeRle, type Rle } from "./rle.ts";

/**
 * Mask of an encoded PNG of any depth and colour type, or of a plain TIFF. Foreground of a PNG is
 * - every opaque pixel, if transparency varies and the colours are only black and white;
 * - else every colour except black and void; without black, every palette entry except the first and void;
 * - for greys with many levels, mostly the brightest (smoothed edges), the upper half.
 * @throws LabError("bad-input") when it is damaged, "unsupported" for other formats
 */
export async function readMaskPicture(bytes: Uint8Array, seen?: SeenLabels): Promise<Rle> {
  if (isTiff(bytes)) return bitmapRle(readTiffMask(bytes), seen);
  if (isPointer(bytes)) throw badInput(`the mask ${IS_POINTER}`);
  if (!isPng(bytes)) {
    throw new LabError(
      "unsupported",
      "the mask is a picture that is neither PNG nor TIFF; only these store a mask without loss",
    );
  }
  const png = decodePng(bytes, "mask's");
  const found = colours(png);
  return encodeRle(foreground(found, labelled(found, png.width), seen), png.height, png.width);
}

/** The labels of a PNG: palette entries, greys (also as three equal channels) or colours; 0 where it is transparent. */
export interface Labelled extends LabelSet {
  readonly values: ArrayLike<number>;
  /** Whether the labels are colours, which have no order. */
  readonly isColour: boolean;
}

/** Undefined for more labels than a label map has. */
export function labelledPng(png: DecodedPng): Labelled | undefined {
  return labelled(colours(png), png.width);
}

function labelled({ value, visible, top, entry, isGrey }: Colours, width: number): Labelled | undefined {
  const isFlat = !isGrey && entry === undefined && value.every((one) => (one & 255) * 0x010101 === one);
  const plain = entry ?? (isFlat ? value.map((one) => one & 255) : value);
  const values = plain.map((label, at) => (visible[at] === 0 ? 0 : label));
  // Numbers up to 255 that are stored in 16 bits have the void of 8 bits.
  const deepest =
    entry !== undefined || isFlat ? 255 : !isGrey || top < 255 ? undefined : top > 255 ? topOf(values) : top;
  const set = labelSet(values, width, deepest, entry === undefined);
  return set === undefined ? undefined : { ...set, values, isColour: !isGrey && entry === undefined && !isFlat };
}

/**
 * The label of each pixel: its palette entry, grey or colour (red, green, blue from the upper byte on); 0 if
 * transparent.
 */
export function labelsOf(png: DecodedPng): ArrayLike<number> {
  const { value, visible, entry } = colours(png);
  return (entry === undefined ? value : Uint32Array.from(entry)).map((label, at) => (visible[at] === 0 ? 0 : label));
}

/** Each pixel as one grey or colour number (0 is black) and its visibility; `top` is the largest grey. */
interface Colours {
  readonly value: Uint32Array;
  readonly visible: Uint8Array;
  readonly top: number;
  /** Palette entry of each pixel, in pictures with a palette. */
  readonly entry: Uint8Array | undefined;
  readonly isGrey: boolean;
}

function foreground({ value, visible, top, entry }: Colours, labels?: Labelled, report?: SeenLabels): Uint8Array {
  const seen = new Set<number>();
  let [hidden, shown, white] = [0, 0, 0];
  for (const [at, one] of value.entries()) {
    if (visible[at] === 0) {
      hidden++;
      continue;
    }
    shown += one === 0 ? 0 : 1;
    white += one === top || one === 0xffffff ? 1 : 0;
    if (seen.size <= LEVELS) seen.add(one);
  }
  // A cut-out: the visible pixels are the mask, unless they are black and one other colour.
  if (hidden > 0 && hidden < value.length && !(seen.size === 2 && seen.has(0))) return visible;
  // Label maps use many grey levels; smoothed edges use few.
  const smooth = seen.size > LEVELS && entry === undefined && 2 * white > shown;
  const black = seen.has(0);
  if (!smooth && labels !== undefined) report?.(labels.labels);
  return Uint8Array.from(value, (one, at) => {
    if (visible[at] === 0 || (labels?.void !== undefined && labels.values[at] === labels.void)) return 0;
    if (smooth) return brightness(one, top) >= 0.5 ? 1 : 0;
    return black || entry === undefined ? Number(one !== 0) : Number(entry[at] !== 0);
  });
}

/** Brightness 0..1 of a grey, or of the brightest part of a colour. */
function brightness(value: number, top: number): number {
  return top > 255 ? value / top : Math.max(value >> 16, (value >> 8) & 255, value & 255) / 255;
}

function colours(png: DecodedPng): Colours {
  const { width, height, depth, channels, palette, transparency } = png;
  const pixels = width * height;
  const data = unpacked(png);
  const [value, visible] = [new Uint32Array(pixels), new Uint8Array(pixels).fill(1)];
  if (palette !== undefined) {
    for (let at = 0; at < pixels; at++) {
      const [r = 0, g = 0, b = 0, a = 255] = palette[data[at] as number] ?? [];
      value[at] = (r << 16) | (g << 8) | b;
      visible[at] = a >= 128 ? 1 : 0;
    }
    return { value, visible, top: 255, entry: Uint8Array.from(data), isGrey: false };
  }
  const top = 2 ** depth - 1;
  const grey = channels < 3;
  // 16-bit colours keep their upper byte and a bit that marks non-black.
  const level = (at: number): number => (depth === 16 ? Math.ceil((data[at] as number) / 257) : (data[at] as number));
  const hidden = transparency !== undefined && transparency.length >= channels ? transparency : undefined;
  for (let at = 0, from = 0; at < pixels; at++, from += channels) {
    value[at] = grey ? (data[from] as number) : (level(from) << 16) | (level(from + 1) << 8) | level(from + 2);
    if (channels % 2 === 0) visible[at] = (data[from + channels - 1] as number) * 2 > top ? 1 : 0;
    else if (hidden !== undefined) {
      visible[at] = Array.from({ length: channels }, (_, c) => data[from + c] === hidden[c]).every(Boolean) ? 0 : 1;
    }
  }
  return { value, visible, top: grey ? top : 255, entry: undefined, isGrey: grey };
}

/** One number per channel: greys and palette entries of 1, 2 or 4 bits come packed, each row beginning at a byte. */
export function unpacked({ width, height, depth, data }: DecodedPng): ArrayLike<number> {
  const perByte = 8 / depth;
  const rowBytes = Math.ceil(width / perByte);
  if (depth >= 8 || data.length !== rowBytes * height) return data;
  return Uint8Array.from({ length: width * height }, (_, at) => {
    const x = at % width;
    const byte = data[Math.floor(at / width) * rowBytes + Math.floor(x / perByte)] as number;
    return (byte >> (8 - depth * ((x % perByte) + 1))) & (2 ** depth - 1);
  });
}
