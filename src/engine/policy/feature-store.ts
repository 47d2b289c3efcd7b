/**
 * Stores frozen features on disk, so that the next epoch and the next run need not compute them: one file per picture,
 * in a folder whose name identifies everything that their bits depend on. A truncated or changed file is never used; it
 * is computed again and replaced.
 */

import * as z from "zod/mini";
import { sha256Hex } from "../bytes/hash.ts";
import { intactJson } from "../bytes/json.ts";
import { joinBytes } from "../bytes/source.ts";
import type { RgbImage } from "../data/sample.ts";
import { fromHalf, toHalf } from "../gpu/packed/quantise.ts";
import type { VisualGrid } from "../text/prompt.ts";

/** Frozen features of a picture in host memory, in f32 or in half precision. */
export type FeatureStorage = "f32" | "f16";

export interface HostTensor {
  readonly shape: readonly number[];
  /** The numbers, or the half-precision bits of the numbers divided by `unit`. */
  readonly values: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;
  /** A power of two. */
  readonly unit: number;
}

export const FEATURE_NAMES = ["vision", "f16", "f8", "f4"] as const;

/** How many visual tokens a picture has. */
export interface PictureTokens {
  /** Number of tiles, including the thumbnail; in a clip, one per frame. */
  readonly tiles: number;
  /** Visual tokens of each tile. */
  readonly grid: VisualGrid;
}

/** The vision tokens and SAM2's three maps; a picture with a drawn region has only the first. */
export interface HostFeatures
  extends PictureTokens,
    Readonly<Partial<Record<(typeof FEATURE_NAMES)[number], HostTensor>>> {
  readonly vision: HostTensor;
  readonly bytes: number;
  /** The largest ‖stored − computed‖ / ‖computed‖ of the arrays; 0 in f32. */
  readonly error: number;
}

/** @param arrays in the order of `FEATURE_NAMES`, all or only the first */
export function hostFeatures(
  { tiles, grid }: PictureTokens,
  arrays: readonly { readonly shape: readonly number[]; readonly values: Float32Array<ArrayBuffer> }[],
  storage: FeatureStorage,
): HostFeatures {
  const stored = arrays.map(({ shape, values }) =>
    storage === "f32" ? { tensor: { shape, values, unit: 1 }, error: 0 } : halved(shape, values),
  );
  const named = Object.fromEntries(stored.map(({ tensor }, at) => [FEATURE_NAMES[at], tensor]));
  const vision = (stored[0] as (typeof stored)[number]).tensor;
  const bytes = stored.reduce((sum, { tensor }) => sum + tensor.values.byteLength, 0);
  return { ...named, tiles, grid, vision, bytes, error: Math.max(...stored.map(({ error }) => error)) };
}

/** The numbers of a stored array. */
export function numbersOf({ values, unit }: HostTensor): Float32Array<ArrayBuffer> {
  if (values instanceof Float32Array) return values;
  const table = halves();
  const numbers = new Float32Array(values.length);
  for (let at = 0; at < values.length; at++) numbers[at] = unit * (table[values[at] as number] as number);
  return numbers;
}

/** Half precision ends at 65,504; dividing by a power of two keeps larger numbers in range without loss. */
function halved(shape: readonly number[], numbers: Float32Array): { tensor: HostTensor; error: number } {
  const table = halves();
  let largest = 0;
  for (const value of numbers) largest = Math.max(largest, Math.abs(value));
  const unit = largest > 2 ** 15 && Number.isFinite(largest) ? 2 ** (Math.ceil(Math.log2(largest)) - 15) : 1;
  const values = new Uint16Array(numbers.length);
  let [wrong, whole] = [0, 0];
  for (let at = 0; at < numbers.length; at++) {
    const value = numbers[at] as number;
    const bits = toHalf(value / unit);
    values[at] = bits;
    wrong += (unit * (table[bits] as number) - value) ** 2;
    whole += value * value;
  }
  return { tensor: { shape, values, unit }, error: whole === 0 ? 0 : Math.sqrt(wrong / whole) };
}

let known: Float32Array | undefined;

/** The number of every half-precision bit pattern. */
function halves(): Float32Array {
  known ??= Float32Array.from({ length: 2 ** 16 }, (_, bits) => {
    if ((bits & 0x7c00) !== 0x7c00) return fromHalf(bits);
    return (bits & 0x3ff) === 0 ? ((bits & 0x8000) === 0 ? 1 : -1) * Number.POSITIVE_INFINITY : Number.NaN;
  });
  return known;
}

/** Increase it whenever the towers' programs or the preparation of pictures change any bit. */
const FORMAT = "sa2va-lab-features/4";
/** Maximum bytes of a header. */
const MAX_HEADER = 4096;

/** The functions of a run store that this cache uses. */
export interface FeatureFiles {
  write(path: string, content: Uint8Array): Promise<void>;
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
  size(path: string): Promise<number | null>;
  list(prefix: string): Promise<readonly { readonly path: string; readonly size: number }[]>;
  remove(prefix: string): Promise<void>;
}

/** Everything that the bits of features depend on, besides the picture. */
interface FeatureOrigin {
  /** Hash of the checkpoint. */
  readonly model: string;
  /** Storage of its weights. */
  readonly storage: unknown;
  /** Storage of the features themselves. */
  readonly features: unknown;
  /** Size and maximum number of tiles. */
  readonly tiling: unknown;
  /** The device and its measured kernel forms; with others, the last bits differ. */
  readonly computedBy: unknown;
}

export interface FeatureDiskCache {
  /** Features of a picture, or undefined when there are none or the file is damaged; the next write replaces it. */
  read(picture: string): Promise<HostFeatures | undefined>;
  /** Stores features if there is space; the first failure is reported and stops writing. */
  write(picture: string, features: HostFeatures): Promise<void>;
  /** Files read, written, and found damaged. */
  readonly counts: { readonly read: number; readonly written: number; readonly damaged: number };
}

/** Name of a picture: SHA-256 over its size and all its pixels. */
export async function pictureKey({ width, height, data }: RgbImage): Promise<string> {
  const bytes = new Uint8Array(8 + data.length);
  new DataView(bytes.buffer).setUint32(0, width);
  new DataView(bytes.buffer).setUint32(4, height);
  bytes.set(data, 8);
  return sha256Hex(bytes);
}

/**
 * @param maxBytes limit for all features together. When it is reached, files that this cache has not used are deleted,
 * in the order of their names. If all were used, nothing more is written: a data set larger than the limit would
 * otherwise evict every file right before it is needed again
 * @param onFailure receives the reason of the first failed write
 */
export async function openFeatureDiskCache(
  files: FeatureFiles,
  origin: FeatureOrigin,
  maxBytes: number,
  onFailure: (thrown: unknown) => void,
): Promise<FeatureDiskCache> {
  const folder = (await sha256Hex(new TextEncoder().encode(JSON.stringify([FORMAT, origin])))).slice(0, 32);
  const sizes = new Map((await files.list("")).map(({ path, size }) => [path, size] as const));
  const used = new Set<string>();
  const counts = { read: 0, written: 0, damaged: 0 };
  let failed = false;
  const pathOf = (picture: string): string => `${folder}/${picture}.bin`;
  const remove = async (path: string): Promise<void> => {
    await files.remove(path);
    sizes.delete(path);
  };
  const taken = (): number => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  /**
   * Deletes unused files, those of other origins first.
   * @returns whether there is room now
   */
  const makeRoom = async (needed: number): Promise<boolean> => {
    const unused = [...sizes.keys()].filter((path) => !used.has(path));
    const foreign = (path: string): number => (path.startsWith(`${folder}/`) ? 1 : 0);
    unused.sort((a, b) => foreign(a) - foreign(b) || (a < b ? -1 : 1));
    const rest = [...used].reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
    if (rest + needed > maxBytes) return false;
    for (const path of unused) {
      if (taken() + needed <= maxBytes) break;
      await remove(path);
    }
    return true;
  };

  return {
    counts,
    async read(picture) {
      const path = pathOf(picture);
      if ((await files.size(path)) === null) return undefined;
      const features = await files.read(path).then(decode, () => undefined);
      if (features === undefined) {
        // An unreadable file is also damaged; the next write replaces it.
        counts.damaged++;
        sizes.delete(path);
        return undefined;
      }
      used.add(path);
      counts.read++;
      return features;
    },
    async write(picture, features) {
      if (failed) return;
      const path = pathOf(picture);
      const content = await encode(features);
      try {
        if (!(await makeRoom(content.length))) return;
        await files.write(path, content);
        sizes.set(path, content.length);
        used.add(path);
        counts.written++;
      } catch (thrown) {
        failed = true;
        onFailure(thrown);
      }
    },
  };
}

async function encode(features: HostFeatures): Promise<Uint8Array<ArrayBuffer>> {
  const body = new Uint8Array(features.bytes);
  let at = 0;
  const stored = FEATURE_NAMES.flatMap((name) => {
    const tensor = features[name];
    return tensor === undefined ? [] : [[name, tensor] as const];
  });
  for (const [, { values }] of stored) {
    body.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
    at += values.byteLength;
  }
  const shapes = Object.fromEntries(stored.map(([name, { shape }]) => [name, shape]));
  const units = Object.fromEntries(stored.map(([name, { unit }]) => [name, unit]));
  const { tiles, grid, error } = features;
  const half = features.vision.values instanceof Uint16Array;
  const header = { format: FORMAT, tiles, grid, shapes, half, units, error, sha256: await sha256Hex(body) };
  const line = new TextEncoder().encode(`${JSON.stringify(header)}\n`);
  return joinBytes([line, body]);
}

const ofEach = <T extends z.ZodMiniType>(shape: T) => z.object({ ...z.partial(mapsOf(shape)).shape, vision: shape });
const mapsOf = <T extends z.ZodMiniType>(shape: T) => z.object({ f16: shape, f8: shape, f4: shape });
const positive = z.number().check(z.positive());
const HEADER = z.object({
  format: z.literal(FORMAT),
  tiles: z.number(),
  grid: z.object({ rows: z.number(), cols: z.number() }),
  shapes: ofEach(z.array(positive.check(z.int()))),
  half: z.boolean(),
  units: ofEach(positive),
  error: z.number(),
  sha256: z.string(),
});

/** Undefined for a file that is truncated or changed. */
async function decode(content: Uint8Array<ArrayBuffer>): Promise<HostFeatures | undefined> {
  const end = content.subarray(0, MAX_HEADER).indexOf(10);
  const header = end < 0 ? undefined : intactJson(new TextDecoder().decode(content.subarray(0, end)), HEADER);
  if (header === undefined) return undefined;
  const { half, error } = header;
  const width = half ? 2 : 4;
  // A copy, because the numbers must be aligned to four bytes.
  const body = content.slice(end + 1);
  if ((await sha256Hex(body)) !== header.sha256) return undefined;
  const tensors: Record<string, HostTensor> = {};
  let at = 0;
  for (const name of FEATURE_NAMES) {
    const [shape, unit] = [header.shapes[name], header.units[name]];
    if (shape === undefined || unit === undefined) continue;
    const count = shape.reduce((product, side) => product * side, 1);
    if (at + width * count > body.length) return undefined;
    const values = half ? new Uint16Array(body.buffer, at, count) : new Float32Array(body.buffer, at, count);
    tensors[name] = { shape, values, unit };
    at += width * count;
  }
  if (at !== body.length) return undefined;
  const named = tensors as Pick<HostFeatures, "vision"> & typeof tensors;
  return { ...named, tiles: header.tiles, grid: header.grid, bytes: body.length, error };
}
