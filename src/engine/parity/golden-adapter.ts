import type { Tensor } from "../gpu/tf.ts";
import { type GoldenModel, jsonFile } from "./golden-model.ts";

const PEFT_PREFIX = "base_model.model.";
const LANGUAGE_PREFIX = "language_model.";

export interface GoldenAdapter {
  /** Low-rank factors under the names of the parameter sets; owned by the caller. */
  readonly factors: Readonly<Record<string, Tensor>>;
  /** alpha / r. */
  readonly scale: number;
}

/** The PEFT adapter of a golden model. @throws LabError("bad-input") naming the file that is missing */
export async function openGoldenAdapter(model: GoldenModel): Promise<GoldenAdapter> {
  const config = await jsonFile(model.folder, "adapter_config.json");
  const stored = await model.arrays("adapter_model.safetensors");
  const factors: Record<string, Tensor> = {};
  for (const name of stored.names) {
    factors[name.replace(PEFT_PREFIX, LANGUAGE_PREFIX)] = await stored.tensor(name);
  }
  return { factors, scale: Number(config.lora_alpha) / Number(config.r) };
}

/** Path of a trainable tensor as the golden files write it: `lora.model.….lora_A` for a low-rank factor. */
export function parameterPath(golden: string): string {
  const lora = /^lora\.(.+\.lora_[AB])$/.exec(golden)?.[1];
  return lora === undefined ? golden : `${LANGUAGE_PREFIX}${lora}.weight`;
}
