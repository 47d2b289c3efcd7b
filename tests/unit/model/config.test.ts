/** config.json of published families: values left out, families not loaded, sizes no model has. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { sam2Shapes } from "../../../src/engine/model/sam2-shapes.ts";
import { expectedShapes } from "../../../src/engine/model/weights/tensor-shapes.ts";
import { videoShapes } from "../../../src/plugins/clips/sam2/video-shapes.ts";
import { publishedConfig } from "../plan/published.ts";

type Json = Record<string, unknown>;
const stored = async (name: string): Promise<Json> =>
  JSON.parse(await readFile(`tests/fixtures/configs/${name}.json`, "utf8")) as Json;
const base = publishedConfig("1B") as Json;
const withLanguage = (llm: Json): Json => ({ ...base, llm_config: llm });

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

describe("values left out because they equal the family's defaults", () => {
  it("are those of InternLM2 in the published 8B", async () => {
    const { language, vision } = parseSa2vaConfig(await stored("8B"));
    expect(language).toMatchObject({
      family: "internlm2",
      hiddenSize: 4096,
      layers: 32,
      heads: 32,
      kvHeads: 8,
      headSize: 128,
      mlpSize: 14336,
      vocabSize: 92558,
      attentionBias: false,
      rmsNormEps: 1e-5,
      rope: { theta: 1e6, scaling: { kind: "dynamic", factor: 2, limit: 32768 } },
    });
    expect(vision).toMatchObject({ hiddenSize: 1024, patchSize: 14, normType: "layer_norm", qkvBias: true });
  });

  it.each([
    ["Qwen2ForCausalLM", 151_936, 4096, 22_016, 32, 128, 32_768, 1e-6],
    ["Qwen3ForCausalLM", 151_936, 4096, 22_016, 32, 128, 32_768, 1e-6],
    ["LlamaForCausalLM", 32_000, 4096, 11_008, 32, 128, 2048, 1e-6],
    ["InternLM2ForCausalLM", 103_168, 4096, 11_008, 32, 128, 2048, 1e-6],
    ["Phi3ForCausalLM", 32_064, 3072, 8192, 32, 96, 4096, 1e-5],
  ])("are those of %s", (name, vocabSize, hiddenSize, mlpSize, kvHeads, headSize, maxPositions, rmsNormEps) => {
    const { language } = parseSa2vaConfig(withLanguage({ architectures: [name] }));
    expect(language).toMatchObject({
      vocabSize,
      hiddenSize,
      mlpSize,
      kvHeads,
      headSize,
      maxPositions,
      rmsNormEps,
      layers: 32,
      heads: 32,
      tiedHead: false,
      window: undefined,
      rope: { theta: 10_000, scaling: { kind: "none" } },
    });
  });

  it("give biases by family", () => {
    const biases = (llm: Json) => {
      const { attentionBias, outputBias, mlpBias } = parseSa2vaConfig(withLanguage(llm)).language;
      return [attentionBias, outputBias, mlpBias];
    };
    expect(biases({ model_type: "qwen2" })).toEqual([true, false, false]);
    expect(biases({ model_type: "qwen3", attention_bias: true })).toEqual([true, true, false]);
    expect(biases({ model_type: "llama", mlp_bias: true })).toEqual([false, false, true]);
    expect(biases({ model_type: "internlm2" })).toEqual([true, true, false]);
    expect(biases({ model_type: "phi3" })).toEqual([false, false, false]);
  });

  it("keep the width of a Qwen3 head apart from the hidden size", () => {
    const llm = { model_type: "qwen3", hidden_size: 1024, num_attention_heads: 16, num_key_value_heads: 8 };
    expect(parseSa2vaConfig(withLanguage(llm)).language.headSize).toBe(128);
  });

  it("are those of the 6B tower, and of the class for the pixel shuffle", () => {
    const { vision, psVersion } = parseSa2vaConfig({ ...base, ps_version: undefined, vision_config: {} });
    expect(psVersion).toBe("v1");
    expect(vision).toMatchObject({
      hiddenSize: 3200,
      layers: 48,
      heads: 25,
      mlpSize: 12_800,
      imageSize: 224,
      patchSize: 14,
      qkvBias: false,
      qkNormalization: true,
      normType: "rms_norm",
    });
  });

  it("leave the window to the list of layers of newer files", () => {
    const qwen = (more: Json) =>
      parseSa2vaConfig(withLanguage({ model_type: "qwen2", num_hidden_layers: 3, use_sliding_window: true, ...more }))
        .language.window;
    const [full, near] = ["full_attention", "sliding_attention"];
    expect(qwen({ sliding_window: 9, layer_types: [full, near, near] })).toEqual({ size: 9, firstLayer: 1 });
    expect(qwen({ layer_types: [full, full, full] })).toBeUndefined();
    expect(qwen({ max_window_layers: 1 })).toEqual({ size: 4096, firstLayer: 1 });
    expect(qwen({})).toBeUndefined();
    expect(() => qwen({ layer_types: [near, full, near] })).toThrow(/layer_types mixes/);
  });
});

describe("names of newer files", () => {
  it("may hold the language model under text_config and all of the rotation in one place", () => {
    const { llm_config: llm, ...rest } = base;
    const rope_parameters = {
      rope_theta: 5e5,
      rope_type: "llama3",
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
    };
    const text = { ...(llm as Json), rope_theta: undefined, rope_parameters, dtype: "bfloat16" };
    const { rope } = parseSa2vaConfig({ ...rest, text_config: text }).language;
    expect(rope.theta).toBe(5e5);
    expect(rope.scaling).toMatchObject({ kind: "divided" });
  });
});

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

describe("a family that is not loaded", () => {
  it.each([
    ["Sa2VALlavaModel", "clip_vision_model"],
    ["Sa2VAChatModelQwen", "siglip_vision_model"],
  ])("is named in one sentence: %s on %s", (name, tower) => {
    const json = { ...QWEN3, architectures: [name], vision_config: { model_type: tower } };
    expect(refusal(json)).toBe(
      `config.json: unsupported family, ${name} on a ${tower} tower; this lab loads Sa2VAChatModel on InternVL (InternViT tower) and Sa2VAChatModelQwen on Qwen2.5-VL and Qwen3-VL`,
    );
  });

  it("is named when only its language model differs", () => {
    expect(refusal(withLanguage({ architectures: ["Qwen3MoeForCausalLM"] }))).toContain("Qwen3MoeForCausalLM");
  });
});

describe("sizes that no model has", () => {
  const llm = base.llm_config as Json;
  const vision = base.vision_config as Json;
  it.each<[string, Json]>([
    ["llm_config.num_hidden_layers", withLanguage({ ...llm, num_hidden_layers: 1e6 })],
    ["llm_config.num_hidden_layers", withLanguage({ ...llm, num_hidden_layers: 1e15 })],
    ["llm_config.num_attention_heads", withLanguage({ ...llm, num_attention_heads: 1e9 })],
    ["llm_config.vocab_size", withLanguage({ ...llm, vocab_size: 1e12 })],
    ["llm_config.intermediate_size", withLanguage({ ...llm, intermediate_size: 1e12 })],
    ["vision_config.num_hidden_layers", { ...base, vision_config: { ...vision, num_hidden_layers: 1e6 } }],
    ["vision_config.image_size", { ...base, vision_config: { ...vision, image_size: 1e9 } }],
    ["sam2_config.stages", { ...base, sam2_config: { stages: [1, 1, 1e7, 1] } }],
    ["sam2_config.stages", { ...base, sam2_config: { stages: new Array(1e5).fill(1) } }],
    ["sam2_config.decoder_depth", { ...base, sam2_config: { decoder_depth: 1e6 } }],
    ["sam2_config.decoder_mlp_dim", { ...base, sam2_config: { decoder_mlp_dim: 1e12 } }],
    ["max_dynamic_patch", { ...base, max_dynamic_patch: 1e9 }],
    ["force_image_size", { ...base, force_image_size: 14e8 }],
  ])("are refused at once, naming %s", (field, json) => {
    expect(refusal(json)).toMatch(new RegExp(`^config\\.json: ${field.replaceAll(".", "\\.")} is .*, it must be`));
  });
});
