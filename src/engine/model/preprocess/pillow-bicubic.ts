/**
 * Bicubic resize with antialiasing on 8-bit RGB, in Pillow's integer arithmetic. The result equals that of Pillow up to
 * 12.3 byte for byte, which resizes horizontally first. Pillow 13 resizes tall pictures vertically first and gives
 * other bytes (docs/spec/sa2va.md#51-resize).
 */
import type { RgbImage } from "../../data/sample.ts";
import { badInput } from "../../errors.ts";

const FRACTION_BITS = 22;
const HALF = 1 << (FRACTION_BITS - 1);
const CUBIC_A = -0.5;

/** Weights of one axis: output i is Σ weights[first[i] + j] · input[start[i] + j], j < count[i]. */
interface AxisTaps {
  readonly start: Int32Array;
  readonly count: Int32Array;
  readonly first: Int32Array;
  /** Fixed point with 22 fraction bits. */
  readonly weights: Int32Array;
}

/**
 * The picture at another size; the aspect ratio is not kept.
 * @param width, height whole pixels, at least 1
 * @param first the axis to resize first: columns as in Pillow up to 12.3, rows as in Pillow 13 for tall pictures
 * @throws LabError("bad-input") for a size below 1 or pixels that do not fit width × height
 */
export function resizeBicubic(
  image: RgbImage,
  width: number,
  height: number,
  first: "columns" | "rows" = "columns",
): RgbImage {
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw badInput(`A picture cannot be resized to ${width} x ${height} pixels`);
  }
  if (image.data.length !== image.width * image.height * 3 || image.data.length === 0) {
    throw badInput(`A picture of ${image.width} x ${image.height} has ${image.data.length} RGB bytes`);
  }
  let current = image;
  // Rounding to bytes between the passes is part of the filter.
  if (first === "rows" && height !== current.height) current = resizeColumns(current, height);
  if (width !== current.width) current = resizeRows(current, width);
  if (height !== current.height) current = resizeColumns(current, height);
  return current === image ? { width, height, data: image.data.slice() } : current;
}

function resizeRows(image: RgbImage, width: number): RgbImage {
  const { start, count, first, weights } = axisTaps(image.width, width);
  const data = new Uint8Array(width * image.height * 3);
  let out = 0;
  for (let y = 0; y < image.height; y++) {
    const row = y * image.width * 3;
    for (let x = 0; x < width; x++) {
      let at = row + (start[x] as number) * 3;
      const from = first[x] as number;
      const end = from + (count[x] as number);
      let [red, green, blue] = [HALF, HALF, HALF];
      for (let tap = from; tap < end; tap++) {
        const weight = weights[tap] as number;
        red += weight * (image.data[at] as number);
        green += weight * (image.data[at + 1] as number);
        blue += weight * (image.data[at + 2] as number);
        at += 3;
      }
      data[out++] = toByte(red);
      data[out++] = toByte(green);
      data[out++] = toByte(blue);
    }
  }
  return { width, height: image.height, data };
}

function resizeColumns(image: RgbImage, height: number): RgbImage {
  const { start, count, first, weights } = axisTaps(image.height, height);
  const stride = image.width * 3;
  const data = new Uint8Array(height * stride);
  const sums = new Float64Array(stride);
  for (let y = 0; y < height; y++) {
    sums.fill(HALF);
    const from = first[y] as number;
    let at = (start[y] as number) * stride;
    for (let tap = from; tap < from + (count[y] as number); tap++) {
      const weight = weights[tap] as number;
      for (let i = 0; i < stride; i++) sums[i] = (sums[i] as number) + weight * (image.data[at + i] as number);
      at += stride;
    }
    for (let i = 0; i < stride; i++) data[y * stride + i] = toByte(sums[i] as number);
  }
  return { width: image.width, height, data };
}

function toByte(sum: number): number {
  const value = Math.floor(sum / (1 << FRACTION_BITS));
  return value < 0 ? 0 : Math.min(value, 255);
}

function axisTaps(inSize: number, outSize: number): AxisTaps {
  const scale = inSize / outSize;
  const stretch = Math.max(scale, 1);
  const support = 2 * stretch;
  const start = new Int32Array(outSize);
  const count = new Int32Array(outSize);
  const first = new Int32Array(outSize);
  const fixed: number[] = [];
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
    first[x] = fixed.length;
    for (const weight of taps) {
      const share = (total === 0 ? weight : weight / total) * (1 << FRACTION_BITS);
      fixed.push(Math.trunc(share < 0 ? share - 0.5 : share + 0.5));
    }
  }
  return { start, count, first, weights: Int32Array.from(fixed) };
}

/** Keys' cubic kernel. */
function cubic(offset: number): number {
  const t = Math.abs(offset);
  if (t < 1) return ((CUBIC_A + 2) * t - (CUBIC_A + 3)) * t * t + 1;
  if (t < 2) return (((t - 5) * t + 8) * t - 4) * CUBIC_A;
  return 0;
}
