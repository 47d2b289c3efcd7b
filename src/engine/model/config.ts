/** `config.json` of a checkpoint in the HuggingFace Sa2VA layout (docs/spec/sa2va.md#3-checkpoint-files). */

import { PLUGIN_FAMILY_READERS } from "../../plugins/family-configs.ts";
import { isRecord } from "../bytes/json.ts";
import { LabError, quote } from "../errors.ts";
import { TEMPLATES, type TemplateName } from "../text/template.ts";
import { type Fields, fieldsOf } from "./config-fields.ts";
import type { FamilyConfig, FamilyReader, RegionPrompt } from "./families/family-config.ts";
import { INTERNVL } from "./families/internvl/config.ts";
import { type LanguageConfig, parseLanguageConfig } from "./language/config-language.ts";
import { parseSam2Config, type Sam2Config } from "./sam2/config.ts";

export type { TemplateName } from "../text/template.ts";
export type { RegionPrompt } from "./families/family-config.ts";
export type { VisionConfig } from "./families/internvl/config.ts";
export type { LanguageConfig, LanguageFamily } from "./language/config-language.ts";

/** The families that the lab loads; their code is listed in families/registry.ts. */
const FAMILIES: readonly FamilyReader[] = [INTERNVL, ...PLUGIN_FAMILY_READERS];

/** How regions are shown: as chosen, or in the form that the model's family understands. */
export function regionPromptOf(
  { regionPrompt }: Pick<FamilyConfig, "regionPrompt">,
  chosen: RegionPrompt | "auto",
): RegionPrompt {
  return chosen === "auto" ? regionPrompt : chosen;
}

/** The sizes of published checkpoints, which do not state them. */
export const HIERA_L_DECODER: DecoderSizes = { mlp: 2048, iouHidden: 256, maskIn: 16 };

/** Sizes inside SAM2's decoder; they affect only the shapes of its tensors. */
export interface DecoderSizes {
  /** Hidden width of the transformer's feed-forward layers. */
  readonly mlp: number;
  /** Hidden width of the head that predicts IoU. */
  readonly iouHidden: number;
  /** Channels of a mask prompt before its last convolution. */
  readonly maskIn: number;
}

export interface Sa2vaConfig extends FamilyConfig {
  readonly template: TemplateName;
  readonly language: LanguageConfig;
  readonly sam2: Sam2Config;
  readonly decoderSizes: DecoderSizes;
}

/**
 * Reads a parsed config.json. Absent fields take the defaults of the published configuration class.
 * @throws LabError("bad-config") naming the field that is missing or wrong; LabError("unsupported") for another model
 */
export function parseSa2vaConfig(json: unknown): Sa2vaConfig {
  if (!isRecord(json)) throw new LabError("bad-config", "config.json is not a JSON object", { subject: "config.json" });
  const family = familyOf(json);
  const fields = fieldsOf(json, "");
  return {
    template: parseTemplate(fields.text("template")),
    ...family.read(fields),
    language: parseLanguageConfig(family.languageFields(fields)),
    sam2: parseSam2Config(json.sam2_config),
    decoderSizes: parseDecoderSizes(fields),
  };
}

function parseDecoderSizes(top: Fields): DecoderSizes {
  if (top.raw("sam2_config") === undefined) return HIERA_L_DECODER;
  const fields = top.child("sam2_config");
  return {
    mlp: fields.whole("decoder_mlp_dim", HIERA_L_DECODER.mlp),
    iouHidden: fields.whole("iou_head_hidden_dim", HIERA_L_DECODER.iouHidden),
    maskIn: fields.whole("mask_in_chans", HIERA_L_DECODER.maskIn),
  };
}

/** All families declare the same model type: the class and the tower tell them apart. */
function familyOf(json: Record<string, unknown>): FamilyReader {
  const named: unknown = Array.isArray(json.architectures) ? json.architectures[0] : undefined;
  const vision = isRecord(json.vision_config) ? json.vision_config.model_type : undefined;
  const architecture = typeof named === "string" ? named : undefined;
  const type = typeof vision === "string" ? vision : undefined;
  const usable = named === undefined ? json.model_type === "sa2va_chat" : architecture !== undefined;
  const found = usable ? FAMILIES.find((family) => family.matches(architecture, type)) : undefined;
  if (found !== undefined) return found;
  const tower = type === undefined || type.startsWith("intern_vit") ? "" : ` on a ${shown(type)} tower`;
  const what = architecture ?? json.model_type;
  throw new LabError(
    "unsupported",
    `config.json: unsupported family, ${typeof what === "string" ? shown(what) : "a model without a named type"}${tower}; ` +
      `this lab loads ${FAMILIES.map(({ loads }) => loads).join(" and ")}`,
    { subject: "architectures" },
  );
}

/** A name from a file, shortened. */
function shown(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

function parseTemplate(value: string): TemplateName {
  const name = value.replaceAll("-", "_");
  const known = (Object.keys(TEMPLATES) as TemplateName[]).find((template) => template === name);
  if (known === undefined) {
    throw new LabError(
      "unsupported",
      `config.json: template ${quote(value)} is not one of ${Object.keys(TEMPLATES).join(", ")}`,
      {
        subject: "template",
      },
    );
  }
  return known;
}

// The checkpoints that the published Sa2VA checkpoints were made from (docs/spec/sa2va.md#2-model-family).

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
function baseMllm({ language, vision }: Pick<Sa2vaConfig, "language" | "vision">): string | null {
  const found = PUBLISHED.find(
    ([family, hidden, layers, width]) =>
      family === language.family &&
      hidden === language.hiddenSize &&
      layers === language.layers &&
      width === vision.hiddenSize,
  );
  return found?.[4] ?? null;
}

/** Chat template and base model, as stored with runs. */
export function modelFacts(config: Sa2vaConfig): { readonly template: string; readonly base?: string } {
  const base = baseMllm(config);
  return { template: config.template, ...(base === null ? {} : { base }) };
}
