/**
 * Compares a merged checkpoint, read back, with base + adapter: next-token scores of a caption and mask logits of a phrase on
 * one synthetic picture, and the tensors of short types. The two models are never loaded at the same time.
 */
import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { DTYPE_BYTES, type Dtype, type Safetensors } from "../formats/safetensors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { promptPlaces } from "../model/language/config-language.ts";
import { languageForward, languageLogits } from "../model/language/language.ts";
import { openSa2va, type Sa2vaModel } from "../model/sa2va.ts";
import type { FloatDtype } from "../model/weights/narrow.ts";
import { uploadTensors } from "../model/weights/weight-pieces.ts";
import { weightsView } from "../model/weights/weights.ts";
import { embedPrompt, projectVision } from "../policy/embedding.ts";
import { disposeFeatures, encodeImage } from "../policy/features.ts";
import { segmentPictures } from "../policy/partner.ts";
import { captionPrompt, promptRegions } from "../policy/prompts.ts";
import type { TrainedTensors } from "../runs/checkpoint/trained.ts";
import type { TensorSource } from "../runs/checkpoint/trainer-state.ts";
import { openHolders } from "./merged.ts";

// Compares the stored tensors of a merged checkpoint with base + adapter, each within the rounding of its element type.
// Outputs alone cannot distinguish a wrong merge from rounding: in bf16 a correct export of the pocket model changes
// mask logits by a tenth of the largest or more, while a wrong scale of a small adapter changes them by less.

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
    const own = (await trained.tensors.get(name)?.read()) ?? file;
    const path = name.endsWith(".weight") ? name.slice(0, -".weight".length) : name;
    const [a, b] = [trained.tensors.get(`${path}.lora_A.weight`), trained.tensors.get(`${path}.lora_B.weight`)];
    if (a !== undefined && b !== undefined && trained.lora !== null) {
      await checkRows(name, own, found, a, b, trained.lora.alpha / trained.lora.r);
    } else await checkElements(name, own, found);
  }
}

/** W + scale · B A, row by row. */
async function checkRows(
  name: string,
  base: Safetensors | Float32Array,
  merged: Safetensors,
  a: TensorSource,
  b: TensorSource,
  scale: number,
): Promise<void> {
  const [rank, width] = a.shape as [number, number];
  const rows = b.shape[0] as number;
  const [down, up] = [await a.read(), await b.read()];
  const every = Math.ceil(rows / ROWS);
  for (let row = 0; row < rows; row += every) {
    const expected = Float64Array.from(await elements(base, name, row * width, (row + 1) * width), (value, at) => {
      let sum = 0;
      for (let k = 0; k < rank; k++) sum += (up[row * rank + k] as number) * (down[k * width + at] as number);
      return value + scale * sum;
    });
    compare(name, row * width, expected, await elements(merged, name, row * width, (row + 1) * width), merged);
  }
}

async function checkElements(name: string, base: Safetensors | Float32Array, merged: Safetensors): Promise<void> {
  const count = merged.info(name).shape.reduce((product, side) => product * side, 1);
  for (let at = 0; at < count; at += PIECE) {
    const end = Math.min(count, at + PIECE);
    compare(name, at, await elements(base, name, at, end), await elements(merged, name, at, end), merged);
  }
}

/** Elements [start, end) of a tensor in a file or in memory. */
async function elements(of: Safetensors | Float32Array, name: string, start: number, end: number) {
  if (of instanceof Float32Array) return of.subarray(start, end);
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

/**
 * Maximum difference relative to the largest magnitude in single precision. Shorter types have no limit, because
 * rounding alone may change outputs by any amount.
 */
const TOLERANCE = 1e-4;

export interface MergeCheck {
  /** Largest difference of the next-token scores, relative to their largest magnitude. */
  readonly tokens: number;
  /** The same for the mask logits. */
  readonly masks: number;
  /** Limit for both; null for an element type whose rounding may change outputs by any amount. */
  readonly tolerance: number | null;
}

interface Answers {
  readonly tokens: Float32Array;
  readonly masks: Float32Array;
}

/**
 * @throws LabError("internal") naming a tensor that is not base + adapter rounded to its type, or with the differences of
 * the outputs when they exceed the tolerance
 */
export async function checkMerged(
  base: ByteFolder,
  trained: TrainedTensors,
  merged: ByteFolder,
  dtype: FloatDtype | null,
): Promise<MergeCheck> {
  const tolerance = (dtype ?? "F32") === "F32" ? TOLERANCE : null;
  if (tolerance === null) await checkTensors(base, trained, merged);
  const before = await answersOf(base, trained);
  const after = await answersOf(merged, null);
  const check = {
    tokens: difference(before.tokens, after.tokens),
    masks: difference(before.masks, after.masks),
    tolerance,
  };
  const most = tolerance ?? Number.MAX_VALUE;
  if (check.tokens <= most && check.masks <= most) return check;
  throw new LabError(
    "internal",
    `The merged checkpoint's outputs differ from base + adapter (tokens ${check.tokens.toExponential(1)}, masks ` +
      `${check.masks.toExponential(1)}, allowed ${tolerance ?? "any finite number"}); it was not saved`,
  );
}

async function answersOf(folder: ByteFolder, trained: TrainedTensors | null): Promise<Answers> {
  const model = await openSa2va(folder, "check");
  const set: Record<string, Tensor> = {};
  try {
    for (const [name, tensor] of model.base) set[name] = tensor;
    Object.assign(set, Object.fromEntries(await uploadTensors(trained?.tensors ?? [])));
    const lora = trained?.lora ?? null;
    return await answer(model, set, lora === null ? 0 : lora.alpha / lora.r);
  } finally {
    // Base tensors belong to the model.
    tf.dispose(Object.entries(set).flatMap(([name, tensor]) => (model.base.get(name) === tensor ? [] : [tensor])));
    model.dispose();
  }
}

async function answer(model: Sa2vaModel, set: Readonly<Record<string, Tensor>>, scale: number): Promise<Answers> {
  const weights = weightsView(model.frozen, set, scale);
  const features = await encodeImage(model, drawnPicture(), 1);
  const { rows, cols } = features.grid;
  const cells = Uint8Array.from({ length: rows * cols }, (_, at) => (at % 3 === 0 ? 1 : 0));
  const prompt = captionPrompt(model, features, cells);
  const order = promptPlaces(model.config.language, prompt, prompt.ids.length);
  const [tokens, masks] = tf.tidy(() => {
    const x = embedPrompt(
      model,
      weights,
      prompt,
      prompt.ids,
      projectVision(model, weights, features.vision),
      promptRegions(prompt),
    );
    const positions = order === undefined ? {} : { positions: [order] };
    const { hidden } = languageForward(weights, model.config.language, x, positions);
    const [, length, width] = hidden.shape as [number, number, number];
    const last = Math.min(4, length);
    const places = tf.slice(hidden, [0, length - last, 0], [1, last, width]).reshape([last, width]);
    const decoded = segmentPictures(model, weights, [{ features, phrases: ["the bright corner"] }]);
    return [languageLogits(weights, places), decoded.masks];
  }) as [Tensor, Tensor];
  disposeFeatures(features);
  const values = await Promise.all([tokens.data(), masks.data()]);
  tf.dispose([tokens, masks]);
  return { tokens: values[0] as Float32Array, masks: values[1] as Float32Array };
}

/** 64 × 64, every pixel different from its neighbours. */
function drawnPicture() {
  const side = 64;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 37 + Math.floor(at / 97) * 11) % 256);
  return { width: side, height: side, data };
}

function difference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let [worst, largest] = [0, 0];
  for (let at = 0; at < a.length; at++) {
    const gap = Math.abs((a[at] as number) - (b[at] as number));
    // NaN must not pass.
    worst = gap > worst || Number.isNaN(gap) ? (Number.isNaN(gap) ? Number.POSITIVE_INFINITY : gap) : worst;
    largest = Math.max(largest, Math.abs(a[at] as number));
  }
  return largest === 0 ? worst : worst / largest;
}
