/** Names and shapes of InternViT and its projector (docs/spec/sa2va.md#4-tensor-names-and-shapes). */
import type { NamedShape } from "../family-config.ts";
import type { VisionConfig } from "./config.ts";

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

/** @param merged width of four tokens side by side @param width of the language model */
export function projectorShapes(merged: number, width: number): NamedShape[] {
  return [
    ["mlp1.0.weight", [merged]],
    ["mlp1.0.bias", [merged]],
    ["mlp1.1.weight", [width, merged]],
    ["mlp1.1.bias", [width]],
    ["mlp1.3.weight", [width, width]],
    ["mlp1.3.bias", [width]],
  ];
}
