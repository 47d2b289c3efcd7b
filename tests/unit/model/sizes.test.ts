import { describe, expect, it } from "vitest";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { sam2Shapes } from "../../../src/engine/model/sam2-shapes.ts";
import { expectedShapes, type NamedShape } from "../../../src/engine/model/weights/tensor-shapes.ts";

/** Published sizes (docs/spec/sa2va.md#2-model-family, docs/spec/sa2va.md#3-checkpoint-files). */
const VISION = {
  hidden_size: 1024,
  num_hidden_layers: 24,
  num_attention_heads: 16,
  intermediate_size: 4096,
  image_size: 448,
  qkv_bias: true,
  qk_normalization: false,
  norm_type: "layer_norm",
};

function published(width: number, layers: number, heads: number, mlp: number, template: string) {
  return parseSa2vaConfig({
    architectures: ["Sa2VAChatModel"],
    template,
    vision_config: VISION,
    llm_config: {
      architectures: ["Qwen2ForCausalLM"],
      hidden_size: width,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: 2,
      intermediate_size: mlp,
      vocab_size: 151679,
      eos_token_id: [151645, 151643],
    },
  });
}

const count = (shapes: readonly NamedShape[]): number =>
  shapes.reduce((sum, [, shape]) => sum + shape.reduce((product, side) => product * side, 1), 0);

describe("published sizes", () => {
  const small = published(896, 24, 14, 4864, "qwen_chat");
  const large = published(2048, 36, 16, 11008, "phi3_chat");

  it("add up to the published totals of the 1B and 4B models", () => {
    // The parts used for video only are not listed; they are the same in both.
    const total = (config: typeof small) =>
      count([...expectedShapes(config), ...sam2Shapes(config.sam2, config.decoderSizes)]);
    const video = 1_163_665_714 - total(small);
    expect(total(large) + video).toBe(3_941_809_714);
    expect(video / 1e6).toBeCloseTo(7.51, 2);
  });

  it("have the published vision tower", () => {
    const tower = expectedShapes(small).filter(([name]) => name.startsWith("vision_model."));
    expect(count(tower)).toBe(304_012_288);
    expect(tower.length).toBe(340);
    expect(small.tokensPerTile).toBe(256);
    expect(large.template).toBe("phi3_chat");
  });
});
