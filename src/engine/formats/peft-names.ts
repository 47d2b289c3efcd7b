/**
 * Names and settings of LoRA adapters in PEFT's form (docs/spec/formats.md#81-peft-adapter). Sa2VA wraps its language
 * model with PEFT, so the wrapper's prefix replaces the name of the sub-model.
 */
import { LabError } from "../errors.ts";

const OURS = "language_model.";
const PEFT = "base_model.model.";

/** File names of an adapter: PEFT's two and the lab's. */
export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_MODEL = "adapter_model.safetensors";
export const MODULES_FILE = "modules.safetensors";

/** Low-rank settings of adapter_config.json. */
export interface LoraFields {
  readonly r: number;
  readonly alpha: number;
  /** Last names of the wrapped layers, e.g. "q_proj". */
  readonly targets: readonly string[];
  /** 0 when absent; only training in PEFT uses it. */
  readonly dropout?: number;
}

/** Whether a trained tensor belongs in the language model's adapter file. */
export function isLora(name: string): boolean {
  return name.startsWith(OURS) && /\.lora_[AB]\.weight$/.test(name);
}

/** `language_model.X` → `base_model.model.X`. @throws LabError("internal") for a tensor of another part */
export function toPeftName(name: string): string {
  if (!name.startsWith(OURS))
    throw new LabError("internal", `"${name}" does not belong to the language model's adapter`);
  return PEFT + name.slice(OURS.length);
}

/** `base_model.model.X` → `language_model.X`; null for a name without PEFT's prefix. */
export function fromPeftName(name: string): string | null {
  return name.startsWith(PEFT) ? OURS + name.slice(PEFT.length) : null;
}

/**
 * Text of adapter_config.json with the fields that describe this adapter. Other fields have PEFT's defaults; older PEFT
 * releases refuse files with fields that they do not know.
 * @param base value of `base_model_name_or_path`, null when unknown
 */
export function adapterConfigText(lora: LoraFields, base: string | null): string {
  const config = {
    base_model_name_or_path: base,
    bias: "none",
    lora_alpha: lora.alpha,
    lora_dropout: lora.dropout ?? 0,
    peft_type: "LORA",
    r: lora.r,
    target_modules: [...new Set(lora.targets)].sort(),
    task_type: "CAUSAL_LM",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
