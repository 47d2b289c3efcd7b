/** config.json of published families: values left out, families not loaded, sizes no model has. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { arePluggedIn } from "../../support/plugins.ts";
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

const QWEN = arePluggedIn("qwen-vl") ? " and Sa2VAChatModelQwen on Qwen2.5-VL and Qwen3-VL" : "";

describe("a family that is not loaded", () => {
  it.each([
    ["Sa2VALlavaModel", "clip_vision_model"],
    ["Sa2VAChatModelQwen", "siglip_vision_model"],
  ])("is named in one sentence: %s on %s", (name, tower) => {
    const json = { ...base, architectures: [name], vision_config: { model_type: tower } };
    expect(refusal(json)).toBe(
      `config.json: unsupported family, ${name} on a ${tower} tower; this lab loads Sa2VAChatModel on InternVL (InternViT tower)${QWEN}`,
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
