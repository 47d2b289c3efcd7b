/**
 * Compares the stored tensors of a merged checkpoint with base + adapter, each within the rounding of its element type.
 * Outputs alone cannot distinguish a wrong merge from rounding: in bf16 a correct export of the pocket model changes
 * mask logits by a tenth of the largest or more, while a wrong scale of a small adapter changes them by less.
 */
import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { DTYPE_BYTES, type Dtype } from "../formats/dtype.ts";
import type { Safetensors } from "../formats/safetensors.ts";
import type { TensorData } from "../runs/checkpoint/checkpoint-state.ts";
import type { TrainedTensors } from "../runs/checkpoint/trained.ts";
import { openHolders } from "./merged.ts";

/** Elements compared at a time. */
const PIECE = 2 ** 20;
/** Number of evenly spread rows of a merged matrix that are recomputed. */
const ROWS = 64;
/** Slack: a value is rounded to single precision first, which in F16 adds up to 2^-13 of its rounding. */
const SLACK = 1 + 2 ** -12;

/** Bits of the significand, and the exponent below which numbers are evenly spaced. */
const FLOATS: Readonly<Partial<Record<Dtype, readonly [bits: number, least: number]>>> = {
  F32: [24, -126],
  F16: [11, -14],
  BF16: [8, -126],
};

/**
 * @throws LabError("internal") naming the first tensor that is missing, has another shape or holds another number
 */
export async function checkTensors(base: ByteFolder, trained: TrainedTensors, merged: ByteFolder): Promise<void> {
  const [before, after] = [await openHolders(base), await openHolders(merged)];
  for (const [name, file] of before) {
    const found = after.get(name);
    if (found === undefined) throw wrong(name, "is missing");
    const [shape, stored] = [file.info(name).shape, found.info(name).shape];
    if (String(shape) !== String(stored))
      throw wrong(name, `is [${stored.join(", ")}] instead of [${shape.join(", ")}]`);
    const replaced = trained.tensors.get(name);
    const path = name.endsWith(".weight") ? name.slice(0, -".weight".length) : name;
    const [a, b] = [trained.tensors.get(`${path}.lora_A.weight`), trained.tensors.get(`${path}.lora_B.weight`)];
    if (a !== undefined && b !== undefined && trained.lora !== null) {
      await checkRows(name, replaced ?? file, found, a, b, trained.lora.alpha / trained.lora.r);
    } else await checkElements(name, replaced ?? file, found);
  }
}

/** W + scale · B A, row by row. */
async function checkRows(
  name: string,
  base: Safetensors | TensorData,
  merged: Safetensors,
  a: TensorData,
  b: TensorData,
  scale: number,
): Promise<void> {
  const [rank, width] = a.shape as [number, number];
  const rows = b.shape[0] as number;
  const every = Math.ceil(rows / ROWS);
  for (let row = 0; row < rows; row += every) {
    const expected = Float64Array.from(await elements(base, name, row * width, (row + 1) * width), (value, at) => {
      let sum = 0;
      for (let k = 0; k < rank; k++) sum += (b.data[row * rank + k] as number) * (a.data[k * width + at] as number);
      return value + scale * sum;
    });
    compare(name, row * width, expected, await elements(merged, name, row * width, (row + 1) * width), merged);
  }
}

async function checkElements(name: string, base: Safetensors | TensorData, merged: Safetensors): Promise<void> {
  const count = merged.info(name).shape.reduce((product, side) => product * side, 1);
  for (let at = 0; at < count; at += PIECE) {
    const end = Math.min(count, at + PIECE);
    compare(name, at, await elements(base, name, at, end), await elements(merged, name, at, end), merged);
  }
}

/** Elements [start, end) of a tensor in a file or in memory. */
async function elements(of: Safetensors | TensorData, name: string, start: number, end: number) {
  if ("data" in of) return of.data.subarray(start, end);
  const size = DTYPE_BYTES[of.info(name).dtype as Dtype];
  return await of.readRange(name, start * size, end * size);
}

/** @param from index of the first element in its tensor */
function compare(
  name: string,
  from: number,
  expected: Float32Array | Float64Array,
  stored: Float32Array | Float64Array,
  file: Safetensors,
): void {
  const [bits, least] = FLOATS[file.info(name).dtype as Dtype] ?? [Number.POSITIVE_INFINITY, 0];
  for (let at = 0; at < expected.length; at++) {
    const [right, found] = [expected[at] as number, stored[at] as number];
    if (Object.is(right, found) || right === found) continue;
    const half = 2 ** (Math.max(least, Math.floor(Math.log2(Math.abs(right)))) - bits);
    // NaN must not pass.
    if (Math.abs(found - right) <= half * SLACK) continue;
    throw wrong(name, `holds ${found} instead of ${right} at element ${from + at}`);
  }
}

function wrong(name: string, why: string): LabError {
  return new LabError("internal", `The merged checkpoint's "${name}" ${why}; it was not saved`, { subject: name });
}
