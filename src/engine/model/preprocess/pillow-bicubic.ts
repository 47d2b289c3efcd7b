/**
 * Bicubic resize with antialiasing on 8-bit RGB, in the integer arithmetic of Pillow or of PyTorch. The result equals
 * that of Pillow up to 12.3 byte for byte, which resizes horizontally first. Pillow 13 resizes tall pictures vertically
 * first and gives other bytes (docs/spec/sa2va.md#51-resize).
 */
import type { RgbImage } from "../../data/sample.ts";
import { badInput } from "../../errors.ts";

/** Fraction bits of Pillow's weights. */
const LONG_BITS = 22;
const CUBIC_A = -0.5;

/** Weights of one axis: output i is Σ weights[first[i] + j] · input[start[i] + j], j < count[i]. */
interface AxisTaps {
  readonly start: Int32Array;
  readonly count: Int32Array;
  readonly first: Int32Array;
  /** Fixed point with `bits` fraction bits. */
  readonly weights: Int32Array;
  readonly bits: number;
}

/**
 * Fixed point of an axis' weights: Pillow's, with 22 fraction bits, or PyTorch's, where the largest weight of the axis
 * fills 16 bits.
 */
type Precision = "long" | "short";

/**
 * The picture at another size; the aspect ratio is not kept.
 * @param width, height whole pixels, at least 1
 * @param first the axis to resize first: columns as in Pillow up to 12.3, rows as in Pillow 13 for tall pictures
 * @param precision "long" as in Pillow, "short" as in PyTorch's `interpolate` on bytes
 * @throws LabError("bad-input") for a size below 1 or pixels that do not fit width × height
 */
export function resizeBicubic(
  image: RgbImage,
  width: number,
  height: number,
  first: "columns" | "rows" = "columns",
  precision: Precision = "long",
): RgbImage {
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw badInput(`A picture cannot be resized to ${width} x ${height} pixels`);
  }
  if (image.data.length !== image.width * image.height * 3 || image.data.length === 0) {
    throw badInput(`A picture of ${image.width} x ${image.height} has ${image.data.length} RGB bytes`);
  }
  let current = image;
  // Rounding to bytes between the passes is part of the filter.
  if (first === "rows" && height !== current.height) current = resizeColumns(current, height, precision);
  if (width !== current.width) current = resizeRows(current, width, precision);
  if (height !== current.height) current = resizeColumns(current, height, precision);
  return current === image ? { width, height, data: image.data.slice() } : current;
}

function resizeRows(image: RgbImage, width: number, precision: Precision): RgbImage {
  const { start, count, first, weights, bits } = axisTaps(image.width, width, precision);
  const half = 1 << (bits - 1);
  const data = new Uint8Array(width * image.height * 3);
  let out = 0;
  for (let y = 0; y < image.height; y++) {
    const row = y * image.width * 3;
    for (let x = 0; x < width; x++) {
      let at = row + (start[x] as number) * 3;
      const from = first[x] as number;
      const end = from + (count[x] as number);
      let [red, green, blue] = [half, half, half];
      for (let tap = from; tap < end; tap++) {
        const weight = weights[tap] as number;
        red += weight * (image.data[at] as number);
        green += weight * (image.data[at + 1] as number);
        blue += weight * (image.data[at + 2] as number);
        at += 3;
      }
      data[out++] = toByte(red, bits);
      data[out++] = toByte(green, bits);
      data[out++] = toByte(blue, bits);
    }
  }
  return { width, height: image.height, data };
}

function resizeColumns(image: RgbImage, height: number, precision: Precision): RgbImage {
  const { start, count, first, weights, bits } = axisTaps(image.height, height, precision);
  const stride = image.width * 3;
  const data = new Uint8Array(height * stride);
  const sums = new Float64Array(stride);
  for (let y = 0; y < height; y++) {
    sums.fill(1 << (bits - 1));
    const from = first[y] as number;
    let at = (start[y] as number) * stride;
    for (let tap = from; tap < from + (count[y] as number); tap++) {
      const weight = weights[tap] as number;
      for (let i = 0; i < stride; i++) sums[i] = (sums[i] as number) + weight * (image.data[at + i] as number);
      at += stride;
    }
    for (let i = 0; i < stride; i++) data[y * stride + i] = toByte(sums[i] as number, bits);
  }
  return { width: image.width, height, data };
}

function toByte(sum: number, bits: number): number {
  const value = Math.floor(sum / (1 << bits));
  return value < 0 ? 0 : Math.min(value, 255);
}

function axisTaps(inSize: number, outSize: number, precision: Precision): AxisTaps {
  const scale = inSize / outSize;
  const stretch = Math.max(scale, 1);
  const support = 2 * stretch;
  const start = new Int32Array(outSize);
  const count = new Int32Array(outSize);
  const first = new Int32Array(outSize);
  const shares: number[] = [];
  for (let x = 0; x < outSize; x++) {
    const centre = (x + 0.5) * scale;
    const low = Math.max(Math.trunc(centre - support + 0.5), 0);
    const high = Math.min(Math.trunc(centre + support + 0.5), inSize);
    const taps: number[] = [];
    let total = 0;
    for (let i = low; i < high; i++) {
      const weight = cubic((i - centre + 0.5) / stretch);
      taps.push(weight);
      total += weight;
    }
    start[x] = low;
    count[x] = taps.length;
    first[x] = shares.length;
    for (const weight of taps) shares.push(total === 0 ? weight : weight / total);
  }
  const bits = precision === "long" ? LONG_BITS : shortBits(shares);
  const weights = Int32Array.from(shares, (share) => {
    const scaled = share * (1 << bits);
    return Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  });
  return { start, count, first, weights, bits };
}

/** As many fraction bits as leave the largest weight below 2^15. */
function shortBits(shares: readonly number[]): number {
  const largest = shares.reduce((most, share) => Math.max(most, share), 0);
  let bits = 0;
  while (bits < LONG_BITS && Math.floor(0.5 + largest * 2 ** (bits + 1)) < 2 ** 15) bits++;
  return bits;
}

/** Keys' cubic kernel. */
function cubic(offset: number): number {
  const t = Math.abs(offset);
  if (t < 1) return ((CUBIC_A + 2) * t - (CUBIC_A + 3)) * t * t + 1;
  if (t < 2) return (((t - 5) * t + 8) * t - 4) * CUBIC_A;
  return 0;
}
