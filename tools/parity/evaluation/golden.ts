/** Files of the evaluation golden set, at any depth of the folder. */
import { isRecord, readJson } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder, ByteSource } from "../../../src/engine/bytes/source.ts";
import { parseRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { badInput } from "../../../src/engine/errors.ts";

export type Json = Record<string, unknown>;

/**
 * Parts of the set by the file that marks each, with names that no other set has; the folder of a single part is a set
 * as well.
 */
const MARKS = [
  "caption/cider.json",
  "caption/ptb.json",
  "caption/region_clean.json",
  "detect/cases.json",
  "dlc/scores.json",
  "gcg/predictions.json",
  "gcg/train.json",
  "iou/gref.json",
  "iou/res.json",
  "osprey/records.json",
  "reasonseg/expected.json",
  "refer/pickles.json",
  "sampler/length_grouped.json",
  "semantic/siou.json",
  "stats/cluster.json",
  "stats/hierarchical.json",
  "tar/dam-00000000.tar",
];

/** Whether a folder is the evaluation golden set or one of its parts. */
export function isEvaluationGolden(paths: readonly string[]): boolean {
  return MARKS.some((mark) => paths.includes(mark) || paths.includes(mark.slice(mark.indexOf("/") + 1)));
}

/** A file of the set by its path from the top, also if only its part was given; undefined if it is absent. */
export function goldenFile(folder: ByteFolder, path: string): ByteSource | undefined {
  return folder.get(path) ?? folder.get(path.slice(path.indexOf("/") + 1));
}

/** The JSON object of a file; undefined if the file is absent. */
export async function goldenJson(folder: ByteFolder, path: string): Promise<Json | undefined> {
  const source = goldenFile(folder, path);
  if (source === undefined) return undefined;
  const json = await readJson(source);
  return isRecord(json) ? json : {};
}

/** The objects of a list. */
export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** An object; an empty one for anything else. */
export function object(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** @throws LabError("bad-input") unless it is a text */
export function text(value: unknown): string {
  if (typeof value !== "string") throw badInput(`${JSON.stringify(value)} stands where a text should`);
  return value;
}

/** The id of a picture, a text or a number. @throws LabError("bad-input") for anything else */
export function pictureId(value: unknown): string | number {
  return typeof value === "number" ? value : text(value);
}

/** @throws LabError("bad-input") unless it is a number */
export function number(value: unknown): number {
  if (typeof value !== "number") throw badInput(`${JSON.stringify(value)} stands where a number should`);
  return value;
}

/** The masks of a list, or null for anything but a list. */
export function masks(value: unknown): Rle[] | null {
  return Array.isArray(value) ? value.map(parseRle) : null;
}
