/** The checkpoints that the published Sa2VA checkpoints were made from (docs/spec/sa2va.md#2-model-family). */
import { LabError } from "../errors.ts";
import type { Sa2vaConfig } from "./config.ts";

/** Language family, its hidden size and layers, and the hidden size of the vision tower. */
const PUBLISHED: readonly (readonly [family: string, hidden: number, layers: number, vision: number, base: string])[] =
  [
    ["qwen2", 896, 24, 1024, "InternVL2_5-1B"],
    ["qwen2", 2048, 36, 1024, "InternVL2_5-4B"],
    ["internlm2", 4096, 32, 1024, "InternVL2_5-8B"],
    ["internlm2", 6144, 48, 3200, "InternVL2_5-26B"],
    ["qwen2", 1536, 28, 1024, "InternVL3-2B"],
    ["qwen2", 3584, 28, 1024, "InternVL3-8B"],
    ["qwen2", 5120, 48, 1024, "InternVL3-14B"],
    ["phi3", 3072, 32, 1024, "InternVL2-4B"],
    ["qwen3_vl_text", 2048, 28, 1024, "Qwen3-VL-2B-Instruct"],
    ["qwen3_vl_text", 2560, 36, 1024, "Qwen3-VL-4B-Instruct"],
    ["qwen2_5_vl_text", 2048, 36, 1280, "Qwen2.5-VL-3B-Instruct"],
    ["qwen2_5_vl_text", 3584, 28, 1280, "Qwen2.5-VL-7B-Instruct"],
  ];

/** Name of the checkpoint with these sizes; null if no published one has them. */
export function baseMllm({ language, vision }: Pick<Sa2vaConfig, "language" | "vision">): string | null {
  const found = PUBLISHED.find(
    ([family, hidden, layers, width]) =>
      family === language.family &&
      hidden === language.hiddenSize &&
      layers === language.layers &&
      width === vision.hiddenSize,
  );
  return found?.[4] ?? null;
}

/**
 * Some programs beside the lab only know Sa2VA on InternVL.
 * @param base as stored with a run
 * @throws LabError("unsupported") for a run of another family
 */
export function requireInternVl(base: string | undefined, program: string): void {
  if (base === undefined || base.startsWith("InternVL")) return;
  throw new LabError("unsupported", `${program} only trains Sa2VA on InternVL, this run trained one on ${base}`, {
    subject: base,
  });
}

/** Chat template and base model, as stored with runs. */
export function modelFacts(config: Sa2vaConfig): { readonly template: string; readonly base?: string } {
  const base = baseMllm(config);
  return { template: config.template, ...(base === null ? {} : { base }) };
}
