/**
 * Names and settings of LoRA adapters in PEFT's form (docs/spec/formats.md#81-peft-adapter). Sa2VA wraps a sub-model with
 * PEFT, so the wrapper's prefix replaces its name: the language model, or on Qwen-VL the whole of it, whose tower has
 * layers of the same names.
 */
import { LabError } from "../errors.ts";

/** Sub-models that are wrapped, each with the path inside it below which adapters are. */
const WRAPPED = [
  { name: "model.", layers: "model.language_model." },
  { name: "language_model.", layers: "" },
] as const;
const PEFT = "base_model.model.";

/** The wrapped sub-model of an adapter's layer. */
const wrapperOf = (name: string) => WRAPPED.find((one) => name.startsWith(one.name + one.layers));

/** File names of an adapter: PEFT's two and the lab's. */
export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_MODEL = "adapter_model.safetensors";
export const MODULES_FILE = "modules.safetensors";

/** Low-rank settings of adapter_config.json. */
export interface LoraFields {
  readonly r: number;
  readonly alpha: number;
  /** Last names of the wrapped layers, e.g. "q_proj", or paths where other parts have layers of the same names. */
  readonly targets: readonly string[];
  /** 0 when absent; only training in PEFT uses it. */
  readonly dropout?: number;
}

/** Whether a trained tensor belongs in the language model's adapter file. */
export function isLora(name: string): boolean {
  return wrapperOf(name) !== undefined && /\.lora_[AB]\.weight$/.test(name);
}

/** `language_model.X` or `model.X` → `base_model.model.X`. @throws LabError("internal") for a tensor of another part */
export function toPeftName(name: string): string {
  const wrapper = wrapperOf(name);
  if (wrapper === undefined) {
    throw new LabError("internal", `"${name}" does not belong to the language model's adapter`);
  }
  return PEFT + name.slice(wrapper.name.length);
}

/** `base_model.model.X` → `language_model.X` or `model.X`; null for a name without PEFT's prefix. */
export function fromPeftName(name: string): string | null {
  if (!name.startsWith(PEFT)) return null;
  const inside = name.slice(PEFT.length);
  const wrapper = WRAPPED.find(({ layers }) => inside.startsWith(layers)) as (typeof WRAPPED)[number];
  return wrapper.name + inside;
}

/** Attribute of Sa2VA that PEFT wraps for an adapter with this tensor. */
export function wrappedName(name: string): string {
  return (wrapperOf(name)?.name ?? "language_model.").slice(0, -1);
}

/**
 * Value of `target_modules`: last names, or a pattern where the wrapped sub-model has other layers of these names.
 * @param paths layers with an adapter, without ".weight"
 */
export function loraTargets(paths: readonly string[]): string[] {
  const ends = [...new Set(paths.map((path) => path.slice(path.lastIndexOf(".") + 1)))].sort();
  const layers = paths[0] === undefined ? "" : (wrapperOf(paths[0])?.layers ?? "");
  return layers === "" ? ends : [`${layers.replaceAll(".", "\\.")}.*\\.(${ends.join("|")})`];
}

/**
 * Text of adapter_config.json with the fields that describe this adapter. Other fields have PEFT's defaults; older PEFT
 * releases refuse files with fields that they do not know.
 * @param base value of `base_model_name_or_path`, null when unknown
 */
export function adapterConfigText(lora: LoraFields, base: string | null): string {
  const targets = [...new Set(lora.targets)].sort();
  const config = {
    base_model_name_or_path: base,
    bias: "none",
    lora_alpha: lora.alpha,
    lora_dropout: lora.dropout ?? 0,
    peft_type: "LORA",
    r: lora.r,
    // PEFT reads a text as a pattern for whole paths, a list as the ends of paths.
    target_modules: targets.length === 1 && targets[0]?.includes("(") ? targets[0] : targets,
    task_type: "CAUSAL_LM",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
