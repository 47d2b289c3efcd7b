import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { readAdapter } from "../../src/engine/model/adapter/lora.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { openTokenizer } from "../../src/engine/text/tokenizer.ts";
import type { GoldenModel } from "./golden-model.ts";
import { readCases } from "./sa2va/sa2va-cases.ts";
import type { LanguageGolden } from "./sa2va/sa2va-llm-run.ts";

/** The language side of a golden model, over weights that are already loaded. */
export async function openLanguageGolden(model: GoldenModel): Promise<LanguageGolden> {
  const { folder, config, frozen } = model;
  const adapter: Record<string, Tensor> = {};
  let scale = 0;
  if (folder.get("adapter_model.safetensors") !== undefined) {
    const loaded = await readAdapter(folder, config.language);
    for (const { name, shape, values } of loaded.tensors) adapter[name] = tf.tensor(values, [...shape]);
    scale = loaded.scale;
  }
  const stored = await model.arrays("golden_preprocess.safetensors");
  const grids: Uint8Array[] = [];
  if (stored.has("region_masks_grid")) {
    const all = Uint8Array.from(await stored.read("region_masks_grid"));
    const [count] = stored.shape("region_masks_grid") as [number];
    for (let at = 0; at < count; at++)
      grids.push(all.slice((at * all.length) / count, ((at + 1) * all.length) / count));
  }
  return {
    config,
    cases: await readCases(folder),
    frozen,
    shuffled: await (await model.arrays("golden_vision.safetensors")).tensor("pixel_shuffle"),
    grids,
    adapter,
    scale,
    base: model.weights,
    tuned: weightsView(frozen, adapter, scale, model.arithmetic),
    tokenizer: await openTokenizer(folder),
  };
}

/** Frees what `openLanguageGolden` created; the model's weights stay. */
export function disposeLanguageGolden(language: LanguageGolden): void {
  tf.dispose([language.shuffled, ...Object.values(language.adapter)]);
}

/** Path of a trainable tensor as the golden files write it: `lora.model.….lora_A` for a low-rank factor. */
export function parameterPath(golden: string): string {
  const lora = /^lora\.(.+\.lora_[AB])$/.exec(golden)?.[1];
  return lora === undefined ? golden : `language_model.${lora}.weight`;
}
