/**
 * Names and shapes that the forward passes need, from the sizes in config.json
 * (docs/spec/sa2va.md#4-tensor-names-and-shapes).
 */
import type { Sa2vaConfig, VisionConfig } from "../config.ts";
import { languageShapes } from "../language/language-shapes.ts";

export type NamedShape = readonly [name: string, shape: readonly number[]];

/** Vision tower, projector, language model and [SEG] prompt; those of SAM2 are in sam2-shapes.ts. */
export function expectedShapes(config: Sa2vaConfig): NamedShape[] {
  const merged = 4 * config.vision.hiddenSize;
  const width = config.language.hiddenSize;
  const prompt = config.sam2.hiddenDim;
  return [
    ...visionShapes(config.vision),
    ["mlp1.0.weight", [merged]],
    ["mlp1.0.bias", [merged]],
    ["mlp1.1.weight", [width, merged]],
    ["mlp1.1.bias", [width]],
    ["mlp1.3.weight", [width, width]],
    ["mlp1.3.bias", [width]],
    ...languageShapes(config.language),
    ["text_hidden_fcs.0.weight", [width, width]],
    ["text_hidden_fcs.0.bias", [width]],
    ["text_hidden_fcs.2.weight", [prompt, width]],
    ["text_hidden_fcs.2.bias", [prompt]],
  ];
}

/** InternViT. */
export function visionShapes(config: VisionConfig): NamedShape[] {
  const { hiddenSize: width, mlpSize, patchSize } = config;
  const patches = (config.imageSize / patchSize) ** 2;
  const shapes: NamedShape[] = [
    ["vision_model.embeddings.class_embedding", [1, 1, width]],
    ["vision_model.embeddings.position_embedding", [1, patches + 1, width]],
    ["vision_model.embeddings.patch_embedding.weight", [width, 3, patchSize, patchSize]],
    ["vision_model.embeddings.patch_embedding.bias", [width]],
  ];
  for (let layer = 0; layer < config.layers; layer++) {
    const path = `vision_model.encoder.layers.${layer}`;
    for (const norm of ["norm1", "norm2"]) {
      shapes.push([`${path}.${norm}.weight`, [width]]);
      if (config.normType === "layer_norm") shapes.push([`${path}.${norm}.bias`, [width]]);
    }
    shapes.push([`${path}.attn.qkv.weight`, [3 * width, width]]);
    if (config.qkvBias) shapes.push([`${path}.attn.qkv.bias`, [3 * width]]);
    if (config.qkNormalization) {
      shapes.push([`${path}.attn.q_norm.weight`, [width]], [`${path}.attn.k_norm.weight`, [width]]);
    }
    shapes.push(
      [`${path}.attn.proj.weight`, [width, width]],
      [`${path}.attn.proj.bias`, [width]],
      [`${path}.mlp.fc1.weight`, [mlpSize, width]],
      [`${path}.mlp.fc1.bias`, [mlpSize]],
      [`${path}.mlp.fc2.weight`, [width, mlpSize]],
      [`${path}.mlp.fc2.bias`, [width]],
      [`${path}.ls1`, [width]],
      [`${path}.ls2`, [width]],
    );
  }
  return shapes;
}
