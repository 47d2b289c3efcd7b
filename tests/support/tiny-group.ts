/** The tiny golden model with an adapter that matters, a drawn picture and a group of captions about it. */
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { initLora } from "../../src/engine/model/adapter/lora.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import type { Completion } from "../../src/engine/policy/decode/generate.ts";
import { encodeImage, type ImageFeatures } from "../../src/engine/policy/features.ts";
import { type CaptionPrompt, captionPrompt } from "../../src/engine/policy/prompts.ts";

export interface TinyGroup {
  readonly model: Sa2vaModel;
  readonly features: ImageFeatures;
  /** Every trainable tensor; scale of the adapter is 2. */
  readonly set: Readonly<Record<string, Tensor>>;
  readonly prompt: CaptionPrompt;
  readonly completions: readonly Completion[];
}

export const TINY = "tests/golden/sa2va-tiny-qwen2";

export async function tinyGroup(): Promise<TinyGroup> {
  const model = await openSa2va(await nodeFolder(TINY), "tiny");
  const side = 96;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 37 + Math.floor(at / 97) * 11) % 256);
  const features = await encodeImage(model, { width: side, height: side, data }, 1);
  const set: Record<string, Tensor> = { ...Object.fromEntries(model.base) };
  // B is not zero, or A would have no gradient.
  const factors = initLora(model.config.language, 4, (tensor, at) => ((tensor * 131 + at * 29) % 997) / 997 + 0.0005);
  for (const { name, shape, values } of factors) {
    const own = name.includes("lora_B") ? values.map((_, at) => Math.sin(at * 0.7) * 0.2) : values;
    set[name] = tf.tensor(own, [...shape]);
  }
  const cells = new Uint8Array(model.config.tokenGridSide ** 2).fill(1);
  const completions = [[11, 12, 13, 14, 15], [21, 22], [31, 32, 33], [41], [51, 52, 53, 54]].map((ids) => ({
    ids,
    logps: [],
    entropies: [],
    ended: true,
  }));
  return { model, features, set, prompt: captionPrompt(model, features, cells), completions };
}

/** Largest difference of two sets of gradients, relative to each tensor's largest element. */
export function gradientGap(a: ReadonlyMap<string, Float32Array>, b: ReadonlyMap<string, Float32Array>): number {
  let largest = a.size === b.size ? 0 : Number.POSITIVE_INFINITY;
  for (const [name, values] of a) {
    const other = b.get(name);
    const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-3);
    for (let at = 0; at < values.length; at++) {
      const gap = Math.abs((values[at] as number) - (other?.[at] ?? Number.NaN)) / scale;
      largest = Math.max(largest, Number.isNaN(gap) ? Number.POSITIVE_INFINITY : gap);
    }
  }
  return largest;
}
