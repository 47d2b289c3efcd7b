/** Names and settings of LoRA adapters as PEFT spells them (reference: ecosystem.md §8.1). */
import type { CheckpointState } from "./checkpoint-state.ts";

/** Sa2VA wraps its language model with PEFT, so the wrapper's prefix stands where the sub-model's name stood. */
const OURS = "language_model.";
const PEFT = "base_model.model.";

/** Whether a trained tensor belongs into an adapter file of the language model. */
export function isLora(name: string): boolean {
  return name.startsWith(OURS) && /\.lora_[AB]\.weight$/.test(name);
}

/** `language_model.X` → `base_model.model.X` */
export function toPeftName(name: string): string {
  return PEFT + name.slice(OURS.length);
}

/** `base_model.model.X` → `language_model.X`; null for a name without PEFT's prefix. */
export function fromPeftName(name: string): string | null {
  return name.startsWith(PEFT) ? OURS + name.slice(PEFT.length) : null;
}

/** Text of adapter_config.json. */
export function adapterConfig(
  lora: NonNullable<CheckpointState["lora"]>,
  base: CheckpointState["baseModel"] | undefined,
): string {
  const config = {
    base_model_name_or_path: base?.name ?? null,
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: false,
    lora_alpha: lora.alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: "LORA",
    peft_version: "0.20.0",
    r: lora.r,
    revision: null,
    target_modules: [...lora.targets].sort(),
    task_type: "CAUSAL_LM",
    use_dora: false,
    use_rslora: false,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
