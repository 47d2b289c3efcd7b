/** config.json of published checkpoints on Qwen-VL, and its counts of tensors and parameters, those of SAM2's memory included. */
import { describe, expect, it } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { sam2Shapes } from "../../../src/engine/model/sam2-shapes.ts";
import { expectedShapes } from "../../../src/engine/model/weights/tensor-shapes.ts";
import { videoShapes } from "../../../src/plugins/clips/sam2/video-shapes.ts";

type Json = Record<string, unknown>;

/** The sentence of a refusal. */
function refusal(json: unknown): string {
  try {
    parseSa2vaConfig(json);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(LabError);
    const { message } = thrown as LabError;
    expect(message.length).toBeLessThanOrEqual(300);
    expect(message).not.toContain("\n");
    return message;
  }
  throw new Error("The config was accepted");
}

/** config.json of a published Sa2VA-Qwen3-VL-2B, as far as it is read. */
const QWEN3: Json = {
  architectures: ["Sa2VAChatModelQwen"],
  model_type: "sa2va_chat",
  template: "qwen_chat",
  tie_word_embeddings: false,
  text_config: {
    model_type: "qwen3_vl_text",
    vocab_size: 151_674,
    hidden_size: 2048,
    intermediate_size: 6144,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
    hidden_act: "silu",
    attention_bias: false,
    max_position_embeddings: 262_144,
    rms_norm_eps: 1e-6,
    rope_theta: 5e6,
    rope_scaling: { mrope_section: [24, 20, 20], mrope_interleaved: true, rope_type: "default" },
    // Of the model it was made from, whose head was tied.
    tie_word_embeddings: true,
  },
  vision_config: {
    model_type: "qwen3_vl",
    depth: 24,
    hidden_size: 1024,
    num_heads: 16,
    intermediate_size: 4096,
    out_hidden_size: 2048,
    hidden_act: "gelu_pytorch_tanh",
    patch_size: 16,
    temporal_patch_size: 2,
    spatial_merge_size: 2,
    num_position_embeddings: 2304,
    deepstack_visual_indexes: [5, 11, 17],
  },
};
/** That of a Sa2VA-Qwen2_5-VL-3B. */
const QWEN2_5: Json = {
  ...QWEN3,
  text_config: {
    model_type: "qwen2_5_vl_text",
    vocab_size: 151_670,
    hidden_size: 2048,
    intermediate_size: 11_008,
    num_hidden_layers: 36,
    num_attention_heads: 16,
    num_key_value_heads: 2,
    max_position_embeddings: 128_000,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    rope_scaling: { mrope_section: [16, 24, 24], rope_type: "default", type: "default" },
    use_sliding_window: false,
  },
  vision_config: {
    model_type: "qwen2_5_vl",
    depth: 32,
    hidden_size: 1280,
    num_heads: 16,
    intermediate_size: 3420,
    out_hidden_size: 2048,
    hidden_act: "silu",
    patch_size: 14,
    temporal_patch_size: 2,
    spatial_merge_size: 2,
    window_size: 112,
    fullatt_block_indexes: [7, 15, 23, 31],
  },
};

describe("Qwen-VL", () => {
  const parameters = (json: Json): number => {
    const config = parseSa2vaConfig(json);
    const shapes = [...expectedShapes(config), ...sam2Shapes(config.sam2, config.decoderSizes)];
    return shapes.reduce((sum, [, shape]) => sum + shape.reduce((product, side) => product * side, 1), 0);
  };

  it.each([
    ["Qwen3-VL-2B", QWEN3, 626, 2_666_775_090],
    ["Qwen2_5-VL-3B", QWEN2_5, 825, 4_293_849_650],
  ])("has the tensors of the published %s", (_, json, tensors, published) => {
    const config = parseSa2vaConfig(json);
    // Without SAM2 and the four tensors of text_hidden_fcs.
    expect(expectedShapes(config).length - 4).toBe(tensors);
    const video = videoShapes(config.sam2).reduce(
      (sum, [, shape]) => sum + shape.reduce((product, side) => product * side, 1),
      0,
    );
    // `no_mem_pos_enc` of SAM2 is stored and never read.
    expect(parameters(json) + video + config.sam2.hiddenDim).toBe(published);
  });

  it("reads either spelling of the rotation", () => {
    const { rope_theta, rope_scaling, ...rest } = QWEN3.text_config as Json;
    const merged = { ...rest, rope_parameters: { ...(rope_scaling as Json), rope_theta } };
    const { rope, tiedHead } = parseSa2vaConfig({ ...QWEN3, text_config: merged }).language;
    expect(rope).toEqual(parseSa2vaConfig(QWEN3).language.rope);
    expect(rope.axes?.slice(0, 5)).toEqual([0, 1, 2, 0, 1]);
    expect(rope.axes?.slice(58)).toEqual([1, 2, 0, 0, 0, 0]);
    expect(tiedHead).toBe(false);
    const axes = parseSa2vaConfig(QWEN2_5).language.rope.axes ?? [];
    expect([0, 1, 2].map((axis) => axes.filter((own) => own === axis).length)).toEqual([16, 24, 24]);
    expect(axes.indexOf(1)).toBe(16);
  });

  it.each([
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "rms_norm_eps",
  ])("does not guess a missing %s of the language model", (key) => {
    expect(refusal({ ...QWEN3, text_config: { ...(QWEN3.text_config as Json), [key]: undefined } })).toContain(key);
  });

  it.each(["depth", "hidden_size", "num_heads", "patch_size", "out_hidden_size", "deepstack_visual_indexes"])(
    "does not guess a missing %s of the tower",
    (key) => {
      expect(refusal({ ...QWEN3, vision_config: { ...(QWEN3.vision_config as Json), [key]: undefined } })).toContain(
        key,
      );
    },
  );

  it("needs the sections of the rotation", () => {
    const text = { ...(QWEN3.text_config as Json), rope_scaling: null };
    expect(refusal({ ...QWEN3, text_config: text })).toContain("mrope_section");
  });
});
