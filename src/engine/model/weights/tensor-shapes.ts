/**
 * Names and shapes that the forward passes need, from the sizes in config.json
 * (docs/spec/sa2va.md#4-tensor-names-and-shapes).
 */
import type { Sa2vaConfig } from "../config.ts";
import type { NamedShape } from "../families/family-config.ts";
import { visionFamily } from "../families/registry.ts";
import { languageShapes } from "../language/language-families.ts";

export type { NamedShape } from "../families/family-config.ts";

/** Vision tower, projector, language model and [SEG] prompt; those of SAM2 are in sam2-shapes.ts. */
export function expectedShapes(config: Sa2vaConfig): NamedShape[] {
  const width = config.language.hiddenSize;
  const prompt = config.sam2.hiddenDim;
  return [
    ...visionFamily(config).shapes(config),
    ...languageShapes(config.language),
    ["text_hidden_fcs.0.weight", [width, width]],
    ["text_hidden_fcs.0.bias", [width]],
    ["text_hidden_fcs.2.weight", [prompt, width]],
    ["text_hidden_fcs.2.bias", [prompt]],
  ];
}
