/**
 * Packs rows of f32 on the host, and unpacks them. Scales are relative to one factor per block, so that tiny and huge
 * matrices stay within half precision. A matrix stored in bfloat16 keeps every bit in f16 unless its elements span more
 * than 28 powers of two.
 */
import { blockBytes, GROUP, paddedWidth, type WeightStorage } from "./storage.ts";

/** A packed block of rows in the layout of its buffers. */
export interface PackedRows {
  /** Elements, see storage.ts. */
  readonly values: Uint32Array<ArrayBuffer>;
  /** Two half-precision scales per word, row by row; empty for forms without scales. */
  readonly scales: Uint32Array<ArrayBuffer>;
  /** Factor of all elements of the block. */
  readonly unit: number;
}

/** Power of two at the top of the half-precision range, to which values are scaled. */
const HALF_TOP = 14;

/**
 * @param rows rows · inSize finite elements, row by row
 * @returns undefined when an element is NaN or infinite
 */
export function packRows(
  storage: WeightStorage,
  rows: Float32Array<ArrayBuffer>,
  count: number,
  inSize: number,
): PackedRows | undefined {
  let largest = 0;
  let finite = true;
  for (let at = 0; at < rows.length; at++) {
    const size = Math.abs(rows[at] as number);
    // Written so that NaN, for which every comparison is false, ends here.
    if (!(size <= 3.4028234e38)) finite = false;
    else if (size > largest) largest = size;
  }
  if (!finite) return undefined;
  const bytes = blockBytes(storage, inSize, count);
  const values = new Uint32Array(bytes.values / 4);
  const scales = new Uint32Array(bytes.scales / 4);
  const width = paddedWidth(storage, inSize);
  switch (storage) {
    case "f32":
      packSingles(rows, count, inSize, width, new Float32Array(values.buffer));
      return { values, scales, unit: 1 };
    case "f16": {
      const unit = largest === 0 ? 1 : 2 ** Math.max(-120, Math.floor(Math.log2(largest)) - HALF_TOP);
      packHalves(rows, count, inSize, width, unit, new Uint16Array(values.buffer));
      return { values, scales, unit };
    }
    case "q8":
    case "q4": {
      const steps = storage === "q8" ? 127 : 7;
      const unit = largest === 0 ? 1 : largest / steps;
      const halves = new Uint16Array(scales.buffer);
      const size = { count, inSize, width };
      if (storage === "q8") {
        const out = new Int8Array(values.buffer);
        const put = (place: number, quotient: number): void => {
          out[place] = Math.max(-127, Math.min(127, Math.round(quotient)));
        };
        packGroups(rows, size, halves, (start, end) => byteScale(rows, start, end, unit), put);
      } else {
        const put = (place: number, quotient: number): void => {
          values[place >>> 3] = (values[place >>> 3] as number) | ((nibble(quotient) & 15) << (4 * (place & 7)));
        };
        packGroups(rows, size, halves, (start, end) => nibbleScale(rows, start, end, unit), put);
      }
      return { values, scales, unit };
    }
  }
}

function packSingles(rows: Float32Array, count: number, inSize: number, width: number, out: Float32Array): void {
  for (let row = 0; row < count; row++) out.set(rows.subarray(row * inSize, (row + 1) * inSize), row * width);
}

const singleBits = new Uint32Array(1);
const single = new Float32Array(singleBits.buffer);

/** Nearest half-precision number, ties to even. */
export function toHalf(value: number): number {
  single[0] = value;
  const bits = singleBits[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size >= 0x477ff000) return sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (size >= 0x38800000) return sign | ((size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13);
  if (size < 0x33000000) return sign;
  const mantissa = (size & 0x7fffff) | 0x800000;
  const shift = 126 - (size >>> 23);
  const whole = mantissa >>> shift;
  const rest = mantissa & (2 ** shift - 1);
  const middle = 2 ** (shift - 1);
  return sign | (whole + (rest > middle || (rest === middle && (whole & 1) === 1) ? 1 : 0));
}

/** The value of a half-precision number. */
export function fromHalf(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return (bits & 0x8000) === 0 ? size : -size;
}

function packHalves(
  rows: Float32Array,
  count: number,
  inSize: number,
  width: number,
  unit: number,
  out: Uint16Array,
): void {
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < inSize; k++) out[row * width + k] = toHalf((rows[row * inSize + k] as number) / unit);
  }
}

/** A scale: its bits, and the value that the GPU reads. */
interface Scale {
  readonly bits: number;
  readonly value: number;
}

function scaleOf(wanted: number, unit: number): Scale {
  const bits = toHalf(wanted / unit);
  return { bits, value: fromHalf(bits) * unit };
}

/**
 * Scales of the groups of `rows`; `put` stores each group's elements.
 * @param scaleFor scale of the elements [start, end)
 */
function packGroups(
  rows: Float32Array,
  { count, inSize, width }: { readonly count: number; readonly inSize: number; readonly width: number },
  scales: Uint16Array,
  scaleFor: (start: number, end: number) => Scale,
  put: (place: number, quotient: number) => void,
): void {
  const groups = width / GROUP;
  for (let row = 0; row < count; row++) {
    for (let group = 0; group < groups; group++) {
      const start = row * inSize + group * GROUP;
      const end = Math.min(start + GROUP, (row + 1) * inSize);
      const { bits, value } = scaleFor(start, end);
      scales[row * groups + group] = bits;
      if (value === 0) continue;
      const to = row * width + group * GROUP - start;
      for (let at = start; at < end; at++) put(to + at, (rows[at] as number) / value);
    }
  }
}

/** The scale that maps the element of largest magnitude to ±127. */
function byteScale(rows: Float32Array, start: number, end: number, unit: number): Scale {
  let largest = 0;
  for (let at = start; at < end; at++) largest = Math.max(largest, Math.abs(rows[at] as number));
  return scaleOf(largest / 127, unit);
}

/** Candidate levels for the element of largest magnitude; the one with the smallest squared error is used. */
const NIBBLE_LEVELS = [-8, -7.5, -7, 7];

function nibbleScale(rows: Float32Array, start: number, end: number, unit: number): Scale {
  let extreme = 0;
  for (let at = start; at < end; at++) {
    if (Math.abs(rows[at] as number) > Math.abs(extreme)) extreme = rows[at] as number;
  }
  let best = { bits: 0, value: 0 };
  let least = Number.POSITIVE_INFINITY;
  for (const level of NIBBLE_LEVELS) {
    const scale = scaleOf(extreme / level, unit);
    if (scale.value === 0) continue;
    let error = 0;
    for (let at = start; at < end; at++) {
      const miss = (rows[at] as number) - nibble((rows[at] as number) / scale.value) * scale.value;
      error += miss * miss;
    }
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

/** Nearest whole number in −8 … 7. */
function nibble(value: number): number {
  if (value >= 7) return 7;
  if (value <= -8) return -8;
  return Math.floor(value + 0.5);
}

/** The f32 values of a block, rows · inSize, row by row; every product with the block must agree with them. */
export function unpackRows(
  storage: WeightStorage,
  { values, scales, unit }: PackedRows,
  count: number,
  inSize: number,
): Float32Array<ArrayBuffer> {
  const width = paddedWidth(storage, inSize);
  const halves = new Uint16Array(values.buffer, values.byteOffset, 2 * values.length);
  const bytes = new Int8Array(values.buffer, values.byteOffset, 4 * values.length);
  const singles = new Float32Array(values.buffer, values.byteOffset, values.length);
  const scaleHalves = new Uint16Array(scales.buffer, scales.byteOffset, 2 * scales.length);
  const out = new Float32Array(count * inSize);
  for (let row = 0; row < count; row++) {
    for (let k = 0; k < inSize; k++) {
      const at = row * width + k;
      const scale = (): number => fromHalf(scaleHalves[(at - (at % GROUP)) / GROUP] as number) * unit;
      let value: number;
      if (storage === "f32") value = singles[at] as number;
      else if (storage === "f16") value = fromHalf(halves[at] as number) * unit;
      else if (storage === "q8") value = (bytes[at] as number) * scale();
      else value = (((values[at >>> 3] as number) << (28 - 4 * (at & 7))) >> 28) * scale();
      out[row * inSize + k] = value;
    }
  }
  return out;
}
