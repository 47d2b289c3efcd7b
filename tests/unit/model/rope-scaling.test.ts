import { describe, expect, it } from "vitest";
import { fieldsOf } from "../../../src/engine/model/config-fields.ts";
import { parseLanguageConfig } from "../../../src/engine/model/language/config-language.ts";
import { parseRope, ropeFrequencies } from "../../../src/engine/model/language/rope-scaling.ts";

const parse = (json: Record<string, unknown>, maxPositions = 64) =>
  parseRope(fieldsOf(json, "llm_config."), 8, maxPositions);
const SHORT = [1, 1.5, 2, 4];
const LONG = [2, 3, 4, 8];

describe("rotary frequencies", () => {
  it("fall by powers of theta", () => {
    const { perPosition, amplitude } = ropeFrequencies(parse({ rope_theta: 16 }), 8, 1000);
    expect(perPosition).toEqual([1, 0.5, 0.25, 0.125]);
    expect(amplitude).toBe(1);
  });

  it("take a larger base beyond the trained length", () => {
    const rope = parse({ rope_theta: 16, rope_scaling: { type: "dynamic", factor: 2 } });
    expect(ropeFrequencies(rope, 8, 64)).toEqual(ropeFrequencies(parse({ rope_theta: 16 }), 8, 64));
    const base = 16 * ((2 * 96) / 64 - 1) ** (8 / 6);
    expect(ropeFrequencies(rope, 8, 96).perPosition[1]).toBeCloseTo(base ** -0.25, 12);
  });

  it.each([
    ["su", Math.sqrt(1 + Math.log(4) / Math.log(16))],
    ["longrope", Math.sqrt(1 + Math.log(4) / Math.log(16))],
    ["yarn", 0.1 * Math.log(4) + 1],
  ])("have divisors of their own with %s", (type, amplitude) => {
    const scaling = { type, short_factor: SHORT, long_factor: LONG };
    const rope = parse({ rope_theta: 16, original_max_position_embeddings: 16, rope_scaling: scaling });
    expect(ropeFrequencies(rope, 8, 16)).toEqual({ perPosition: [1, 0.5 / 1.5, 0.125, 0.125 / 4], amplitude });
    expect(ropeFrequencies(rope, 8, 17).perPosition).toEqual([0.5, 0.5 / 3, 0.0625, 0.125 / 8]);
  });

  it("are those of transformers 5.23 with its own yarn, and with the waves of Llama 3", () => {
    // Qwen3Config(head_dim=32, rope_scaling=yarn with factor 4 and 32 trained positions): inv_freq before and after.
    const yarn = parseRope(
      fieldsOf({ rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 } }, "llm_config."),
      32,
      128,
    );
    const { perPosition, amplitude } = ropeFrequencies(yarn, 32, 7);
    const plain = ropeFrequencies(parseRope(fieldsOf({}, "llm_config."), 32, 128), 32, 7).perPosition;
    const divisors = plain.map((value, k) => value / (perPosition[k] as number));
    expect(divisors).toEqual([1, 4 / 3, 2, ...new Array<number>(13).fill(4)].map((value) => expect.closeTo(value, 9)));
    expect(amplitude).toBeCloseTo(0.1 * Math.log(4) + 1, 12);
    const waves = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };
    const llama = parseRope(
      fieldsOf({ rope_scaling: { ...waves, original_max_position_embeddings: 200 } }, "llm_config."),
      16,
      256,
    );
    // transformers' inv_freq, as float32.
    const expected = [1, 0.31623, 0.076174, 0.0040136, 0.00125, 0.00039528, 0.000125, 0.000039528];
    ropeFrequencies(llama, 16, 7).perPosition.forEach((value, k) => {
      expect(value / (expected[k] as number)).toBeCloseTo(1, 3);
    });
  });

  it("are read from the newer form of the file too", () => {
    const parameters = { rope_theta: 16, rope_type: "longrope", short_factor: SHORT, long_factor: LONG };
    const old = { rope_theta: 16, rope_scaling: { type: "su", short_factor: SHORT, long_factor: LONG } };
    const trained = { original_max_position_embeddings: 16 };
    expect(parse({ rope_parameters: { ...parameters, ...trained } })).toEqual(parse({ ...old, ...trained }));
    expect(parse({ rope_parameters: { rope_theta: 16, rope_type: "default" } })).toEqual(parse({ rope_theta: 16 }));
  });

  it("know the trained length of Phi-3 where the file leaves it out, and take the one beside the group first", () => {
    // Phi3Config(max_position_embeddings=131072) of transformers 5.23: attention_scaling 1.1902, long factors from 4097 tokens on.
    const given = { model_type: "phi3", hidden_size: 16, num_attention_heads: 2, max_position_embeddings: 131_072 };
    const scaling = { type: "longrope", short_factor: SHORT, long_factor: LONG };
    const { rope } = parseLanguageConfig(fieldsOf({ ...given, rope_scaling: scaling }, "llm_config."));
    expect(rope.scaling).toMatchObject({ limit: 4096, amplitude: expect.closeTo(1.1902, 4) });
    for (const group of [
      { ...scaling, original_max_position_embeddings: 64 },
      { type: "yarn", factor: 2, original_max_position_embeddings: 64 },
    ]) {
      const beside = { original_max_position_embeddings: 1024 };
      const rope = parse({ rope_scaling: group, ...beside });
      expect(rope).toEqual(parse({ rope_scaling: { ...group, ...beside } }));
      expect(rope).not.toEqual(parse({ rope_scaling: group }));
    }
  });

  it("are refused by name", () => {
    expect(() => parse({ rope_scaling: { type: "ntk", factor: 2 } })).toThrow(/"ntk" is not supported/);
    expect(() => parse({ rope_scaling: { type: "llama3", factor: 2 } })).toThrow(/low_freq_factor is missing/);
    expect(() => parse({ rope_parameters: { rope_theta: 1e4, partial_rotary_factor: 0.75 } })).toThrow(
      /partial_rotary_factor other than 1/,
    );
    const scaling = { type: "su", short_factor: [1, 1], long_factor: LONG };
    expect(() => parse({ rope_scaling: scaling })).toThrow(/short_factor must be a list of 4/);
  });
});

describe("llm_config", () => {
  const BASE = {
    vocab_size: 20,
    hidden_size: 48,
    intermediate_size: 40,
    num_hidden_layers: 3,
    num_attention_heads: 6,
    num_key_value_heads: 2,
  };
  const read = (json: Record<string, unknown>) => parseLanguageConfig(fieldsOf({ ...BASE, ...json }, "llm_config."));

  it("names the family by class, or by type where no class is given", () => {
    expect(read({ architectures: ["InternLM2ForCausalLM"] }).family).toBe("internlm2");
    expect(read({ model_type: "phi3" }).family).toBe("phi3");
    expect(() => read({ model_type: "gemma" })).toThrow(/gemma; this lab runs/);
    expect(() => read({})).toThrow(/no architecture/);
  });

  it("knows which projections have a bias and how far attention looks back", () => {
    expect(read({ model_type: "qwen2", sliding_window: 8 })).toMatchObject({ attentionBias: true, window: undefined });
    expect(
      read({ model_type: "qwen2", use_sliding_window: true, sliding_window: 8, max_window_layers: 2 }).window,
    ).toEqual({ size: 8, firstLayer: 2 });
    expect(read({ model_type: "phi3", sliding_window: 8 })).toMatchObject({ window: { size: 8, firstLayer: 0 } });
    expect(read({ model_type: "internlm2", bias: true })).toMatchObject({ attentionBias: true });
    expect(read({ model_type: "internlm2", bias: false })).toMatchObject({ attentionBias: false, outputBias: false });
  });

  it("takes the width of a head from the file", () => {
    expect(read({ model_type: "qwen2", head_dim: 16 }).headSize).toBe(16);
    expect(() => read({ model_type: "phi3", partial_rotary_factor: 0.75 })).toThrow(/partial_rotary_factor/);
  });
});
