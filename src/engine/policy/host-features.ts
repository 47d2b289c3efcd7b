/** Frozen features of a picture in host memory, in f32 or in half precision. */
import { fromHalf, toHalf } from "../gpu/packed/quantise.ts";
import type { VisualGrid } from "../text/prompt.ts";

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
