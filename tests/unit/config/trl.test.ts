import fc, { type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { FALLBACK } from "../../../src/app/stores/route-text.ts";
import { defaultConfig, parseConfig, requireConfig, SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { readSettingsFile } from "../../../src/engine/config/settings-file.ts";
import { type LabConfig, SETTINGS } from "../../../src/engine/config/table.ts";
import { isTrlName } from "../../../src/engine/config/trl.ts";
import { collectFiles } from "../../../src/engine/export/export-file.ts";
import { trlFiles } from "../../../src/engine/export/trl.ts";
import { memoryStore } from "../../../src/engine/runs/memory-store.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { forAny } from "../../support/any.ts";
import { manifest } from "../runs/sample-run.ts";

/** Any value that a setting may have. */
function anyValue(setting: Setting): Arbitrary<number | string | boolean> {
  if (setting.kind === "choice") return fc.constantFrom(...setting.choices.map(({ value }) => value));
  if (setting.kind === "flag") return fc.boolean();
  if (setting.kind === "text") return fc.constant(setting.default);
  const { min, max } = setting;
  const ends = fc.constantFrom(min, max, setting.default);
  if (setting.kind === "int")
    return fc.oneof(ends, fc.integer({ min, max }), fc.integer({ min, max: Math.min(max, min + 5) }));
  return fc.oneof(ends, fc.double({ min, max, noNaN: true }));
}

const anyConfig = fc.record(
  Object.fromEntries(SETTING_KEYS.map((key) => [key, anyValue(SETTINGS[key])])),
) as unknown as Arbitrary<LabConfig>;

async function exported(config: LabConfig): Promise<string> {
  const run = await createRun(memoryStore(), manifest("brave-otter", { config }));
  const files = await collectFiles(trlFiles(run, null));
  return new TextDecoder().decode(files["trl_grpo.yaml"]);
}

const KNOWN_THERE = SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting).trl !== undefined);

describe("a run for TRL", () => {
  it("gives the same settings when it is read back, whatever they were and whatever it is read over", async () => {
    await forAny(200, fc.tuple(anyConfig, anyConfig), async ([config, base]) => {
      const read = requireConfig(readSettingsFile(await exported(config), "trl_grpo.yaml"), base, "trl_grpo.yaml");
      for (const key of KNOWN_THERE) {
        // The one value that has no counterpart there.
        const near = key === "schedule" && config.schedule === "linear-then-cosine" ? "cosine" : config[key];
        expect(read[key], key).toBe(near);
      }
      for (const key of SETTING_KEYS.filter((key) => !KNOWN_THERE.includes(key)))
        expect(read[key], key).toBe(base[key]);
    });
  });

  it("counts and spells as TRL does", async () => {
    const config = {
      ...defaultConfig(),
      steps: 20,
      iterations: 3,
      saveSteps: 5,
      evalSteps: 0,
      groupSize: 8,
      promptsPerStep: 2,
    };
    const text = await exported({ ...config, schedule: "constant", warmupSteps: 4, learningRate: 1e-7 });
    for (const line of [
      "max_steps: 60",
      'save_strategy: "steps"',
      "save_steps: 15",
      'eval_strategy: "no"',
      "per_device_train_batch_size: 16",
      'lr_scheduler_type: "constant"',
      "learning_rate: 1.0e-7",
      "delta: null",
    ]) {
      expect(text.split("\n"), line).toContain(line);
    }
    expect(text).not.toMatch(/^eval_steps/m);
  });
});

describe("TRL's names", () => {
  const read = (record: Record<string, unknown>, base: Partial<LabConfig> = {}) =>
    parseConfig(record, { ...defaultConfig(), ...base });

  it("stand for our settings, and a sentence says for which", () => {
    const { config, given, problems, unknown, translated } = read({
      num_generations: 8,
      max_completion_length: "32",
      learning_rate: 2e-5,
      lora_r: 16,
      steps: 7,
    });
    expect([problems, unknown]).toEqual([[], []]);
    expect(given).toEqual({ groupSize: 8, maxNewTokens: 32, learningRate: 2e-5, loraRank: 16, steps: 7 });
    expect(config).toEqual({ ...defaultConfig(), ...given });
    expect(translated).toBe(
      "TRL's names were translated: num_generations is groupSize 8, max_completion_length is maxNewTokens 32, learning_rate is learningRate 0.00002, lora_r is loraRank 16",
    );
    expect(read({ steps: 7, beta: 0.1, seed: 3 }).translated).toBeNull();
  });

  it("are none of the page's own in its address", () => {
    expect([...Object.keys(FALLBACK), "preset"].filter(isTrlName)).toEqual([]);
  });

  it("give way to our own", () => {
    const { config, translated } = read({
      num_generations: 8,
      groupSize: 6,
      epsilon: 0.5,
      epsilonLow: 0.1,
      max_steps: -1,
      steps: 4,
    });
    expect(config).toEqual({ ...defaultConfig(), groupSize: 6, epsilonLow: 0.1, steps: 4 });
    expect(translated).toMatch(/num_generations gave way to groupSize/);
    expect(read({ epsilon: 0.5, epsilonHigh: 0.3 }).given).toEqual({ epsilonLow: 0.5, epsilonHigh: 0.3 });
  });

  it.each<[string, Record<string, unknown>, Partial<LabConfig>]>([
    [
      "passes over a batch",
      { max_steps: 60, num_iterations: 3, save_steps: "15" },
      { steps: 20, iterations: 3, saveSteps: 5 },
    ],
    [
      "shares of the run",
      { max_steps: 50, save_steps: 0.1, eval_steps: 0.25, warmup_steps: 0.03 },
      { steps: 50, saveSteps: 5, evalSteps: 13, warmupSteps: 2 },
    ],
    [
      "no beat",
      { save_strategy: "no", save_steps: 500, eval_strategy: false, eval_steps: null },
      { saveSteps: 0, evalSteps: 0 },
    ],
    ["a beat", { save_strategy: "steps", save_steps: 4 }, { saveSteps: 4 }],
    [
      "rollouts for prompts",
      { per_device_train_batch_size: 24, num_generations: 8 },
      { groupSize: 8, promptsPerStep: 3 },
    ],
    ["one ε for both sides", { epsilon: 0.3 }, { epsilonLow: 0.3, epsilonHigh: 0.3 }],
    ["the same, said outright", { epsilon: 0.3, epsilon_high: null }, { epsilonLow: 0.3, epsilonHigh: 0.3 }],
    ["two ε", { epsilon: 0.1, epsilon_high: 0.28 }, { epsilonLow: 0.1, epsilonHigh: 0.28 }],
    [
      "off",
      { delta: null, min_p: null, top_k: -1, max_grad_norm: null },
      { delta: 0, minP: 0, topK: 0, maxGradNorm: 0 },
    ],
    ["a flag for a choice", { scale_rewards: false }, { scaleRewards: "none" }],
    [
      "a flag for a choice, as text",
      { scale_rewards: "True", gradient_checkpointing: "False" },
      { scaleRewards: "group", recompute: false },
    ],
    [
      "a warm-up of no step",
      { lr_scheduler_type: "constant_with_warmup", warmup_steps: 0 },
      { schedule: "constant", warmupSteps: 0 },
    ],
  ])("are converted: %s", (_, record, expected) => {
    const { given, problems, unknown } = read(record);
    expect([problems, unknown]).toEqual([[], []]);
    expect(given).toEqual(expected);
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ max_steps: -1 }, /^max_steps -1 leaves the length to epochs/],
    [{ max_steps: 31, num_iterations: 2 }, /^max_steps 31 is no multiple of num_iterations 2/],
    [
      { per_device_train_batch_size: 6, num_generations: 4 },
      /^per_device_train_batch_size 6 is no multiple of num_generations 4/,
    ],
    [{ save_total_limit: null }, /^save_total_limit null keeps every checkpoint/],
    [{ save_strategy: "epoch" }, /^save_strategy must be steps or no, not "epoch"/],
    [{ lr_scheduler_type: "linear" }, /^lr_scheduler_type: schedule must be one of /],
    [
      { lr_scheduler_type: "constant_with_warmup", warmup_steps: 5 },
      /^lr_scheduler_type constant_with_warmup is not there/,
    ],
    [{ use_peft: false }, /^use_peft false trains all weights/],
    [{ num_generations: 1 }, /^num_generations: groupSize must be a whole number from 2 to 64, not "1"/],
    [{ max_steps: "8x", num_iterations: 2 }, /^max_steps: steps must be a whole number .*, not "8x"/],
    // Off is written as null by TRL alone.
    [{ delta: null }, /^delta must be a number/],
  ])("that have no counterpart are refused: %j", (record, sentence) => {
    const { problems, given } = read(record);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(sentence);
    expect(given).not.toHaveProperty("steps");
  });

  it("without a setting are listed in one sentence", () => {
    const record = { num_generations: 8, lora_dropout: 0.1, bf16: true, toString: 1 };
    expect(() => requireConfig(record, undefined, "grpo.yaml")).toThrow(
      /^grpo\.yaml: there are no settings "lora_dropout", "bf16", "toString"$/,
    );
  });

  it("are told to whoever asks for the settings", () => {
    const told: string[] = [];
    requireConfig({ num_generations: 8, logging_steps: 1 }, undefined, "grpo.yaml", (sentence) => told.push(sentence));
    expect(told).toEqual([
      "grpo.yaml: TRL's names were translated: num_generations is groupSize 8, logging_steps changes nothing",
    ]);
  });
});

describe("a file of settings", () => {
  it("is flat YAML", () => {
    const text = `# a run
---
max_steps: 50 # of them
learning_rate: 1.0e-05
lr_scheduler_type: cosine
loss_type: 'dr_grpo'
delta: null
eval_strategy: "no"
model_name_or_path: "a # b"
use_peft: True
lora_target_modules:
  - q_proj
  - "v_proj"
names: [a, 'b']
output_dir: ./out
empty:
`;
    expect(readSettingsFile(text, "grpo.yaml")).toEqual({
      max_steps: 50,
      learning_rate: 1e-5,
      lr_scheduler_type: "cosine",
      loss_type: "dr_grpo",
      delta: null,
      eval_strategy: "no",
      model_name_or_path: "a # b",
      use_peft: true,
      lora_target_modules: ["q_proj", "v_proj"],
      names: ["a", "b"],
      output_dir: "./out",
      empty: null,
    });
  });

  it("is JSON, or the settings of a run", () => {
    expect(readSettingsFile('{"steps": 3}', "settings.json")).toEqual({ steps: 3 });
    const run = manifest("brave-otter", { config: presetConfig("demo") });
    expect(readSettingsFile(JSON.stringify(run), "run.json")).toEqual(presetConfig("demo"));
  });

  it.each([
    ["settings.json", "steps: 3", /^settings\.json is not JSON; the settings are kept$/],
    ["a.json", "[1]", /^a\.json holds no object of settings/],
    ["a.yaml", "deep:\n  steps: 3", /^a\.yaml line 2 is not of the form name: value/],
    ["a.yaml", "steps: {a: 1}", /^a\.yaml line 1 holds a value that is neither/],
    ["a.yaml", 'steps: "3', /^a\.yaml line 1 holds a value/],
    ["a.yaml", "text: |\n  x", /^a\.yaml line 1 holds a value/],
    ["a.yaml", "- 3", /^a\.yaml line 1 is not of the form/],
    ["a.yaml", "\n# nothing\n", /^a\.yaml holds no settings$/],
  ])("that is something else is named: %s %j", (name, text, sentence) => {
    expect(() => readSettingsFile(text, name)).toThrow(sentence);
  });
});
