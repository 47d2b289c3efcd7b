/** Bilinear resize with antialiasing in single precision on the host (docs/spec/video.md#9-consistent-decoder). */
import { LabError } from "../../../errors.ts";

interface Taps {
  readonly start: number;
  readonly weights: Float32Array;
}

/**
 * A triangle filter as wide as the reduction, at least one pixel to each side; columns first, then rows.
 * @param values [height · width]
 * @returns [toHeight · toWidth]
 * @throws LabError("internal") when the values do not fill the size
 */
export function resizeAntialiased(
  values: Float32Array,
  height: number,
  width: number,
  toHeight: number,
  toWidth: number,
): Float32Array<ArrayBuffer> {
  if (values.length !== height * width)
    throw new LabError("internal", `${values.length} values do not fill ${height} x ${width}`);
  const along = tapsOf(width, toWidth);
  const wide = new Float32Array(height * toWidth);
  for (let y = 0; y < height; y++) {
    along.forEach(({ start, weights }, x) => {
      wide[y * toWidth + x] = sum(values, y * width + start, 1, weights);
    });
  }
  const down = tapsOf(height, toHeight);
  const out = new Float32Array(toHeight * toWidth);
  down.forEach(({ start, weights }, y) => {
    for (let x = 0; x < toWidth; x++) out[y * toWidth + x] = sum(wide, start * toWidth + x, toWidth, weights);
  });
  return out;
}

function sum(values: Float32Array, from: number, step: number, weights: Float32Array): number {
  let total = 0;
  for (let at = 0; at < weights.length; at++) {
    total = Math.fround(total + Math.fround((values[from + at * step] as number) * (weights[at] as number)));
  }
  return total;
}

function tapsOf(from: number, to: number): Taps[] {
  const scale = from / to;
  const support = Math.max(scale, 1);
  return Array.from({ length: to }, (_, at) => {
    const centre = scale * (at + 0.5);
    const start = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), from);
    const raw = Array.from({ length: end - start }, (_, tap) =>
      Math.max(0, 1 - Math.abs((start + tap - centre + 0.5) / support)),
    );
    const total = raw.reduce((all, weight) => all + weight, 0);
    return { start, weights: Float32Array.from(raw, (weight) => weight / total) };
  });
}
