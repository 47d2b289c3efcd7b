/**
 * JPEG as libjpeg decodes it: jpeg-js gives the colour planes as they are stored, enlarged and converted here with
 * libjpeg's interpolation and rounding (jdsample.c, jdcolor.c). jpeg-js itself repeats colours and cuts off fractions,
 * which makes pictures darker.
 */
import jpeg from "jpeg-js";

interface Layout {
  /** Horizontal and vertical samples of each component. */
  readonly samples: readonly (readonly [h: number, v: number])[];
  /** Whether red, green and blue are stored, as libjpeg decides: Adobe's segment says so and no JFIF segment is there. */
  readonly rgb: boolean;
  /** Position of the transform in Adobe's segment, or -1. */
  readonly transformAt: number;
}

/** Maximum memory of jpeg-js for a picture of 2^26 pixels. */
const MAX_MEGABYTES = 1536;

/**
 * Pixels of four values (red, green, blue, 255), row-major.
 * @throws Error when the picture is damaged
 */
export function decodeJpeg(bytes: Uint8Array): { width: number; height: number; data: Uint8Array } {
  const { samples, rgb, transformAt } = layoutOf(bytes);
  const options = { useTArray: true, formatAsRGBA: true, maxMemoryUsageInMB: MAX_MEGABYTES } as const;
  if (samples.length !== 3) return jpeg.decode(bytes, options);
  const plain = Uint8Array.from(bytes);
  // A transform in the file would overrule the option.
  if (transformAt >= 0) plain[transformAt] = 0;
  const planes = jpeg.decode(plain, { ...options, colorTransform: false });
  const { width, height, data } = planes;
  const most = [0, 1].map((axis) => Math.max(...samples.map((one) => one[axis] as number)));
  for (const [c, [h, v]] of samples.entries()) {
    enlarge(data, c, width, height, (most[0] as number) / h, (most[1] as number) / v);
  }
  if (!rgb) toRgb(data);
  return planes;
}

/** Reads the segments before the pixels. */
function layoutOf(bytes: Uint8Array): Layout {
  const starts = (at: number, text: string): boolean =>
    [...text].every((one, n) => bytes[at + n] === one.charCodeAt(0));
  let [jfif, transformAt] = [false, -1];
  let samples: Layout["samples"] = [];
  for (let at = 2; bytes[at] === 0xff && bytes[at + 1] !== 0xda; ) {
    const code = bytes[at + 1] as number;
    if (code === 0xff || code === 0x01) {
      at += code === 0xff ? 1 : 2;
      continue;
    }
    const body = at + 4;
    if (code === 0xe0 && starts(body, "JFIF\0")) jfif = true;
    if (code === 0xee && starts(body, "Adobe")) transformAt = body + 11;
    if (code >= 0xc0 && code <= 0xc2) {
      samples = Array.from({ length: bytes[body + 5] as number }, (_, c) => {
        const both = bytes[body + 7 + 3 * c] as number;
        return [both >> 4, both & 15] as const;
      });
    }
    at += 2 + (((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number));
  }
  return { samples, rgb: !jfif && transformAt >= 0 && bytes[transformAt] === 0, transformAt };
}

/** Interpolates a plane whose samples jpeg-js has repeated, across and down; factors other than 1 and 2 stay repeated. */
function enlarge(data: Uint8Array, channel: number, width: number, height: number, across: number, down: number): void {
  // libjpeg does not interpolate planes of one or two columns.
  const columns = Math.ceil(width / across);
  const wide = across === 2 && columns > 2;
  const tall = down === 2 && (wide || across === 1);
  if (!wide && !tall) return;
  if (across > 2 || down > 2 || (wide && down !== 1 && down !== 2)) return;
  const rows = Math.ceil(height / down);
  const plane = new Uint8Array(columns * rows);
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      plane[y * columns + x] = data[4 * (y * down * width + x * across) + channel] as number;
    }
  }
  const sums = new Int32Array(columns);
  for (let y = 0; y < height; y++) {
    const own = Math.floor(y / down);
    const upper = y % 2 === 0;
    const other = Math.min(rows - 1, Math.max(0, upper ? own - 1 : own + 1));
    for (let x = 0; x < columns; x++) {
      const value = plane[own * columns + x] as number;
      sums[x] = tall ? 3 * value + (plane[other * columns + x] as number) : value;
    }
    for (let x = 0; x < width; x++) {
      data[4 * (y * width + x) + channel] = wide
        ? between(sums, x, tall)
        : ((sums[x] as number) + (upper ? 1 : 2)) >> 2;
    }
  }
}

/** Three quarters of the own column and a quarter of the nearer neighbour, rounded as libjpeg does. */
function between(sums: Int32Array, x: number, tall: boolean): number {
  const own = x >> 1;
  const left = x % 2 === 0;
  const here = sums[own] as number;
  const edge = left ? own === 0 : own === sums.length - 1;
  const beside = edge ? here : (sums[left ? own - 1 : own + 1] as number);
  const sum = 3 * here + beside;
  if (tall) return (sum + (left ? 8 : 7)) >> 4;
  return edge ? here : (sum + (left ? 1 : 2)) >> 2;
}

const HALF = 2 ** 15;
const fixed = (value: number): number => Math.round(value * 2 ** 16);
const [RED, GREEN_BLUE, GREEN_RED, BLUE] = [1.402, 0.34414, 0.71414, 1.772].map(fixed) as [
  number,
  number,
  number,
  number,
];

/** Luminance and colour differences to red, green and blue in fixed-point numbers, in place. */
function toRgb(data: Uint8Array): void {
  const pixels = new Uint8ClampedArray(data.buffer, data.byteOffset, data.length);
  for (let at = 0; at < data.length; at += 4) {
    const [y, blue, red] = [data[at] as number, (data[at + 1] as number) - 128, (data[at + 2] as number) - 128];
    pixels[at] = y + ((RED * red + HALF) >> 16);
    pixels[at + 1] = y + ((HALF - GREEN_BLUE * blue - GREEN_RED * red) >> 16);
    pixels[at + 2] = y + ((BLUE * blue + HALF) >> 16);
  }
}
