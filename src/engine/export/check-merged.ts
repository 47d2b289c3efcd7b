/**
 * Compares a merged checkpoint, read back, with base + adapter: next-token scores of a caption and mask logits of a phrase on
 * one synthetic picture, and the tensors of short types. The two models are never loaded at the same time.
 */
import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward, languageLogits } from "../model/language/language.ts";
import { promptPlaces } from "../model/language/places.ts";
import { openSa2va, type Sa2vaModel } from "../model/sa2va.ts";
import type { FloatDtype } from "../model/weights/narrow.ts";
import { weightsView } from "../model/weights/weights.ts";
import { embedPrompt, projectVision } from "../policy/embedding.ts";
import { disposeFeatures, encodeImage } from "../policy/features.ts";
import { segmentPictures } from "../policy/partner.ts";
import { captionPrompt, promptRegions } from "../policy/prompts.ts";
import type { TrainedTensors } from "../runs/checkpoint/trained.ts";
import { checkTensors } from "./check-tensors.ts";

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
    for (const [name, { shape, data }] of trained?.tensors ?? []) set[name] = tf.tensor(data, [...shape]);
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
