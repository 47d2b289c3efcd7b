/** Masks of an expression over all frames of its clip. */
import { isRecord } from "../../engine/bytes/json.ts";
import type { ByteSource } from "../../engine/bytes/source.ts";
import { encodeRle, mergeRles, parseRle, type Rle, rleArea, rleIsEmpty } from "../../engine/data/mask/rle.ts";
import type { Records } from "../../engine/data/records/records.ts";
import { badInput, type LabError, quote, toLabError } from "../../engine/errors.ts";
import type { FrameDirectory } from "./frame-folders.ts";
import { clipSize } from "./frame-picture.ts";
import { paletteIndices } from "./palette.ts";

/** One mask per frame, empty if the object is not visible. */
export type ClipTruth = () => Promise<readonly Rle[]>;

/**
 * The union of several entries of mask_dict.json. An expression without entries refers to nothing, so its masks are
 * empty.
 */
export function dictionaryTruth(
  masks: Records,
  ids: readonly string[],
  frames: readonly ByteSource[],
  subject: string,
): ClipTruth {
  return async () => {
    const lists: (Rle | null)[][] = [];
    for (const id of new Set(ids)) {
      const place = masks.keys.indexOf(id);
      const bad = (what: string, cause?: unknown): LabError =>
        badInput(`${masks.name}: annotation ${quote(id)} of ${subject} ${what}`, masks.name, cause);
      if (place < 0) {
        throw badInput(`${masks.name} has no annotation ${quote(id)}, which ${subject} names`, masks.name);
      }
      const value = await masks.item(place);
      if (!Array.isArray(value)) throw bad("is not a list of masks");
      if (value.length !== frames.length) throw bad(`has ${value.length} masks for ${frames.length} frames`);
      lists.push(
        (value as unknown[]).map((item, frame) => {
          try {
            return item === null ? null : parseRle(item);
          } catch (thrown) {
            throw bad(`is damaged at frame ${frame}: ${toLabError(thrown).message}`, thrown);
          }
        }),
      );
    }
    const known = lists.flat().filter((mask) => mask !== null);
    const size = known[0]?.size ?? (await clipSize(frames.slice(0, 1)));
    const other = known.find((mask) => mask.size.join() !== size.join());
    if (other !== undefined) {
      const [one, two] = [size, other.size].map(([height, width]) => `${width} x ${height}`);
      throw badInput(`${masks.name}: ${subject} has masks of ${one} and of ${two} pixels`, masks.name);
    }
    return frames.map((_, frame) => {
      const own = lists.flatMap((list) => list[frame] ?? []);
      return own.length === 0 ? emptyMask(size) : mergeRles(own, "union");
    });
  };
}

/**
 * Pixels of palette PNGs that show one of `objects`. A frame without a PNG is an error, because its mask is unknown,
 * not empty; nor is an object in no frame, which has another number.
 */
export function paletteTruth(
  palettes: FrameDirectory,
  names: readonly string[],
  objects: readonly number[],
  subject: string,
): ClipTruth {
  const own = new Set(objects);
  return async () => {
    const found: Rle[] = [];
    for (const name of names) {
      const file = palettes.get(name);
      if (file === undefined) {
        throw badInput(`${palettes.path} has no mask for frame ${quote(name)} of ${subject}`, palettes.path);
      }
      const { indices, height, width } = paletteIndices(await file.read(0, file.size), file.name);
      const pixels = Uint8Array.from(indices, (index) => (own.has(index) ? 1 : 0));
      found.push(encodeRle(pixels, height, width));
    }
    if (found.every(rleIsEmpty)) {
      throw badInput(`${palettes.path} has object ${objects.join(", ")} of ${subject} in no frame`, palettes.path);
    }
    return found;
  };
}

/**
 * Pixels of all annotated objects of each frame, from mask_dict_foreground.json of ReVOS. Objects that overlap count
 * twice, as in its evaluation program.
 * @throws LabError("bad-input") naming the file
 */
export async function foregroundPixels(masks: Records, id: string, frames: number): Promise<number[]> {
  const place = masks.keys.indexOf(id);
  const value = place < 0 ? undefined : await masks.item(place);
  const list: unknown = isRecord(value) ? value.masks_rle : undefined;
  const bad = (what: string): LabError => badInput(`${masks.name}: clip ${quote(id)} ${what}`, masks.name);
  if (!Array.isArray(list) || list.length !== frames) throw bad(`has no list of ${frames} masks`);
  return (list as unknown[]).map((objects, frame) => {
    try {
      const all = Array.isArray(objects) ? (objects as unknown[]) : objects === null ? [] : [objects];
      return all.reduce<number>((sum, object) => sum + rleArea(parseRle(object)), 0);
    } catch (thrown) {
      throw bad(`is damaged at frame ${frame}: ${toLabError(thrown).message}`);
    }
  });
}

/** @param size [height, width] */
export function emptyMask([height, width]: readonly [number, number]): Rle {
  return encodeRle(new Uint8Array(height * width), height, width);
}
