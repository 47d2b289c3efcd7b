/**
 * Masks of several regions in one picture or bitmap: each label (a grey, palette entry or colour except 0) is a region.
 */

import { turnAfter } from "../../bytes/pace.ts";
import { badInput, type LabError } from "../../errors.ts";
import type { FindFile } from "../siblings.ts";
import { type LabelMap, MOST_LABELS, type PictureSize } from "./mask-picture.ts";
import { readMask } from "./mask-read.ts";
import { type Rle, rleFromRuns } from "./rle.ts";

/**
 * The masks of a label map for a number of texts. Text i belongs to label i + 1 if no label exceeds the number of
 * texts, else to the i-th label in order if there is one label per text. A missing label gives an error. Void is no label
 * (docs/spec/data.md#8-label-maps-and-binary-masks).
 * @param texts number of texts, at least 2
 * @returns undefined for anything else, such as a mask of one region; a sentence if labels and texts do not fit
 */
export async function splitLabels(
  item: unknown,
  texts: number,
  size: PictureSize & { readonly find: FindFile },
): Promise<(Rle | LabError)[] | string | undefined> {
  const map = await labelMapOf(item, size);
  if (map === undefined) return undefined;
  const { labels } = map;
  const last = labels.at(-1);
  if (last === undefined) return undefined;
  let [zero, below] = [false, false];
  for (let at = 0; at < map.values.length; at++) {
    const value = map.values[at] as number;
    if (value === 0) zero = true;
    else if (value < 0) below = true;
  }
  // Where something else is the background, as in Cityscapes, objects count from 0.
  if (last < texts && zero && (map.void !== undefined || below)) {
    const all = `the labels 0, ${labelText(labels)} and void`;
    return `the label map has ${all} for ${texts} texts, so 0 may be the first object or the background; number objects from 1`;
  }
  // A picture with label 1 alone is a mask of one region.
  if (last === 1) return undefined;
  if (map.isColour && labels.length > 1) {
    const colours = `${labels.length} colours (${labelText(labels, true)})`;
    return `the mask has ${colours} and the row ${texts} texts, and colours have no order; store greys or palette entries`;
  }
  const numbered = last <= texts;
  if (!numbered && labels.length === 1) return undefined;
  if (!numbered && labels.length !== texts) {
    return `the label map has ${labels.length} labels (${labelText(labels)}), but the row has ${texts} texts`;
  }
  const masks = labelRles(map.values, map.height, map.width, MOST_LABELS);
  const missing = (label: number): LabError =>
    badInput(`the label map has no label ${label}, only ${labelText(labels)}; the row has ${texts} texts`);
  const wanted = numbered ? Array.from({ length: texts }, (_, at) => at + 1) : labels;
  return wanted.map((label) => masks?.get(label) ?? missing(label));
}

/** Maximum number of labels in a message. */
const SHOWN = 8;

/** Labels as text; colours as hexadecimal digits. */
export function labelText(labels: readonly number[], areColours = labels.some((label) => label > 0xffff)): string {
  const shown = labels.slice(0, SHOWN).map((label) => (areColours ? `#${label.toString(16).padStart(6, "0")}` : label));
  return `${shown.join(", ")}${labels.length > SHOWN ? ", …" : ""}`;
}

/** Whether a mask is a picture or bitmap of several labels, or of one label beside void. */
export async function isLabelMap(item: unknown, size: PictureSize & { readonly find: FindFile }): Promise<boolean> {
  const map = await labelMapOf(item, size);
  return map !== undefined && (map.labels.length > 1 || map.void !== undefined);
}

/**
 * The mask of each label except 0, in one pass over row-major labels.
 * @returns undefined for more than `most` labels
 */
export function labelRles(
  labels: ArrayLike<number>,
  height: number,
  width: number,
  most: number,
): Map<number, Rle> | undefined {
  const found = new Map<number, { readonly runs: number[]; end: number }>();
  let [label, start] = [0, 0];
  const close = (end: number): void => {
    const own = found.get(label);
    if (own === undefined) return;
    own.runs.push(end - start);
    own.end = end;
  };
  for (let x = 0, place = 0; x < width; x++) {
    for (let at = x; at < labels.length; at += width, place++) {
      const next = Math.max(0, labels[at] as number);
      if (next === label) continue;
      close(place);
      [label, start] = [next, place];
      if (next === 0) continue;
      const own = found.get(next) ?? { runs: [], end: 0 };
      own.runs.push(place - own.end);
      if (found.set(next, own).size > most) return undefined;
    }
  }
  const pixels = height * width;
  close(pixels);
  for (const { runs, end } of found.values()) if (end < pixels) runs.push(pixels - end);
  return new Map([...found].map(([one, { runs }]) => [one, rleFromRuns(runs, height, width)]));
}

/** The labels of a picture or bitmap in any form of a mask; undefined for other masks. */
async function labelMapOf(
  item: unknown,
  context: PictureSize & { readonly find: FindFile },
): Promise<LabelMap | undefined> {
  let found: LabelMap | undefined;
  const seen = (map: LabelMap): void => {
    found = map;
  };
  await readMask(item, { ...context, seen });
  await turnAfter(found?.values.length ?? 0);
  return found;
}
