import { readFileSync } from "node:fs";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { FALLBACK } from "../../../src/app/stores/route-text.ts";
import { groupsPerStep, windowsPerStep } from "../../../src/engine/config/derived.ts";
import { weightKeys } from "../../../src/engine/config/groups/reward-weights.ts";
import {
  defaultConfig,
  parseConfig,
  requireConfig,
  SETTING_KEYS,
  SkippableSettings,
} from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../src/engine/config/table.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { lossSettingsOf } from "../../../src/engine/rl/objective/loss-types.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { readSettingsFile, settingsText } from "../../../src/plugins/exchange/settings-file.ts";
import { trlFiles } from "../../../src/plugins/handover/trl.ts";
import { FORMER_NAMES, isTrlName } from "../../../src/plugins/trl/names.ts";
import { forAny } from "../../support/any.ts";
import { collectFiles } from "../../support/collected-files.ts";
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
  // Files have one zero.
  return fc.oneof(
    ends,
    fc.double({ min, max, noNaN: true }).map((x) => x + 0),
  );
}

const anyConfig = fc.record({
  ...Object.fromEntries(SETTING_KEYS.map((key) => [key, anyValue(SETTINGS[key])])),
}) as unknown as Arbitrary<LabConfig>;

async function exported(config: LabConfig): Promise<string> {
  const run = await createRun(memoryStore(), manifest("brave-otter", { config }));
  const files = await collectFiles(trlFiles(run, null));
  return new TextDecoder().decode(files["trl_grpo.yaml"]);
}

const KNOWN_THERE = SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting).trl !== undefined);

/** What comes back of a configuration: the same run, with as few groups as possible in a micro-batch. */
function comesBack(config: LabConfig): LabConfig {
  const { promptsPerStep, accumulation, stepsPerGeneration, lrSchedulerType, lossType } = config;
  const [total, generated] = [accumulation * promptsPerStep, stepsPerGeneration * promptsPerStep];
  let prompts = 1;
  const reaches = (): boolean => total / prompts <= 4096 && generated / prompts <= 262144;
  while (total % prompts > 0 || generated % prompts > 0 || !reaches()) prompts++;
  return {
    ...config,
    promptsPerStep: prompts,
    accumulation: total / prompts,
    stepsPerGeneration: generated / prompts,
    lrSchedulerType: lrSchedulerType === "linear-then-cosine" ? "cosine" : lrSchedulerType,
    minLrRate: lrSchedulerType === "constant" ? 0 : config.minLrRate,
    importanceSamplingLevel: lossType === "luspo" ? "sequence" : config.importanceSamplingLevel,
  };
}

describe("a run for TRL", () => {
  it("gives the same settings when it is read back, whatever they were and whatever it is read over", async () => {
    await forAny(60, fc.tuple(anyConfig, anyConfig), async ([config, base]) => {
      const read = requireConfig(readSettingsFile(await exported(config), "trl_grpo.yaml"), base, "trl_grpo.yaml");
      const wanted = comesBack(config);
      for (const key of KNOWN_THERE) expect(read[key], key).toBe(wanted[key]);
      expect([groupsPerStep(read), windowsPerStep(read)]).toEqual([groupsPerStep(config), windowsPerStep(config)]);
      for (const key of SETTING_KEYS.filter((key) => !KNOWN_THERE.includes(key)))
        expect(read[key], key).toBe(base[key]);
    });
  });

  it("comes back where its batch is larger than the accumulation reaches", async () => {
    const config = { ...defaultConfig(), promptsPerStep: 48, accumulation: 100, stepsPerGeneration: 300, steps: 4 };
    const text = await exported(config);
    expect(text).toContain("\ngradient_accumulation_steps: 4800\n");
    const wanted = { promptsPerStep: 2, accumulation: 2400, stepsPerGeneration: 7200, steps: 4 };
    expect(requireConfig(readSettingsFile(text, "trl_grpo.yaml"))).toMatchObject(wanted);
    // The defaults stand for a file that does not name its batch.
    expect(requireConfig({ gradient_accumulation_steps: 8192 })).toMatchObject({
      promptsPerStep: 2,
      accumulation: 4096,
    });
    expect(parseConfig({ gradient_accumulation_steps: 8191 }).problems[0]).toMatch(
      /accumulation must be a whole number/,
    );
  });

  it.each([{ promptsPerStep: 2 }, { batch_size: 2 }, { promptsPerStep: 2, per_device_train_batch_size: 8 }])(
    "is refused instead of made smaller where %j beside it fixes the prompts",
    (batch) => {
      const { problems } = parseConfig({ gradient_accumulation_steps: 8192, ...batch });
      expect(problems).toEqual([
        expect.stringMatching(/accumulation must be a whole number from 1 to 4096, not "8192"/),
      ]);
    },
  );

  it("keeps its prompts where the lab's own accumulation wins", () => {
    const given = { accumulation: 4, gradient_accumulation_steps: 8192, per_device_train_batch_size: 8 };
    expect(requireConfig(given)).toMatchObject({ accumulation: 4, promptsPerStep: 2 });
  });

  it("counts and spells as TRL does", async () => {
    const config = {
      ...defaultConfig(),
      steps: 20,
      numIterations: 3,
      saveSteps: 5,
      evalSteps: 0,
      numGenerations: 8,
      promptsPerStep: 2,
    };
    const text = await exported({ ...config, lrSchedulerType: "constant", warmupSteps: 4, learningRate: 1e-7 });
    for (const line of [
      "max_steps: 60",
      'save_strategy: "steps"',
      "save_steps: 15",
      'eval_strategy: "no"',
      "per_device_train_batch_size: 8",
      "gradient_accumulation_steps: 2",
      "steps_per_generation: null",
      "off_policy_mask_threshold: null",
      "bf16: false",
      "use_bias_correction_kl: false",
      'lr_scheduler_type: "constant"',
      "learning_rate: 1.0e-7",
      "delta: null",
    ]) {
      expect(text.split("\n"), line).toContain(line);
    }
    expect(text).not.toMatch(/^eval_steps/m);
  });

  it("says beside the settings what a file for TRL cannot set", async () => {
    const text = await exported({ ...presetConfig("demo"), loop1LengthCost: 0.5, syncRefModel: true });
    expect(text).toMatch(/^# reward_weights: \[1, -0\.5, .*\] for loop1Iou, loop1LengthCost, /m);
    expect(text).toMatch(/^# sync_ref_model: true, which TRL refuses with PEFT$/m);
    expect(text).not.toMatch(/^(?:reward_weights|sync_ref_model)/m);
  });

  it("caps cispo's weights there as here", async () => {
    const config = { ...defaultConfig(), lossType: "cispo", epsilonHigh: 3.5 } as const;
    expect(lossSettingsOf(config, 0, 1, 1, 1).weightMax).toBe(3.5);
    expect((await exported(config)).split("\n")).toContain("epsilon_high: 3.5");
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
    expect(given).toEqual({ numGenerations: 8, maxCompletionLength: 32, learningRate: 2e-5, loraR: 16, steps: 7 });
    expect(config).toEqual({ ...defaultConfig(), ...given });
    expect(translated).toBe(
      "Other names were translated: num_generations is numGenerations 8, max_completion_length is maxCompletionLength 32, learning_rate is learningRate 0.00002, lora_r is loraR 16",
    );
    expect(read({ steps: 7, beta: 0.1, seed: 3 }).translated).toBeNull();
  });

  it("are none of the page's own in its address", () => {
    expect([...Object.keys(FALLBACK), "preset"].filter(isTrlName)).toEqual([]);
  });

  it("give way to our own", () => {
    const { config, translated } = read({
      num_generations: 8,
      numGenerations: 6,
      epsilon: 0.5,
      epsilonLow: 0.1,
      max_steps: -1,
      steps: 4,
    });
    expect(config).toEqual({ ...defaultConfig(), numGenerations: 6, epsilonLow: 0.1, steps: 4 });
    expect(translated).toMatch(/num_generations is overridden by numGenerations/);
    expect(read({ epsilon: 0.5, epsilonHigh: 0.3 }).given).toEqual({ epsilonLow: 0.5, epsilonHigh: 0.3 });
    // A name that stands for two settings sets the one that is not given.
    for (const high of ["epsilonHigh", "epsilon_high"])
      expect(read({ [high]: 0.3, clip_range: 0.5 }).given).toEqual({ epsilonLow: 0.5, epsilonHigh: 0.3 });
    const judged = { use_llm_judge: true, judge: "questions", loop1Judge: 0.5 };
    expect(read(judged).given).toEqual({ judge: "questions", loop1Meteor: 0.25, loop1Judge: 0.5 });
  });

  it.each<[string, Record<string, unknown>, Partial<LabConfig>]>([
    [
      "passes over a batch",
      { max_steps: 60, num_iterations: 3, save_steps: "15" },
      { steps: 20, numIterations: 3, saveSteps: 5 },
    ],
    [
      "shares of the run",
      { max_steps: 50, save_steps: 0.1, eval_steps: 0.25, warmup_steps: 0.03 },
      { steps: 50, saveSteps: 5, evalSteps: 13, warmupSteps: 2 },
    ],
    [
      "no interval",
      { save_strategy: "no", save_steps: 500, eval_strategy: false, eval_steps: null },
      { saveSteps: 0, evalSteps: 0 },
    ],
    ["a interval", { save_strategy: "steps", save_steps: 4 }, { saveSteps: 4 }],
    [
      "rollouts for prompts",
      { per_device_train_batch_size: 24, num_generations: 8 },
      { numGenerations: 8, promptsPerStep: 3 },
    ],
    ["a share of warm-up", { max_steps: 40, warmup_ratio: 0.1 }, { steps: 40, warmupSteps: 4 }],
    ["a share of warm-up beside steps", { warmup_ratio: 0.1, warmup_steps: 3 }, { warmupSteps: 3 }],
    [
      "a share of warm-up beside no steps",
      { max_steps: 30, warmup_ratio: 0.05, warmup_steps: 0 },
      { steps: 30, warmupSteps: 2 },
    ],
    [
      "the rate at the end",
      { "lr_scheduler_kwargs.min_lr": 0.125, lr_scheduler_type: "cosine_with_min_lr", learning_rate: 0.5 },
      { learningRate: 0.5, lrSchedulerType: "cosine", minLrRate: 0.25 },
    ],
    ["one ε for both sides", { epsilon: 0.3 }, { epsilonLow: 0.3, epsilonHigh: 0.3 }],
    ["the same, said outright", { epsilon: 0.3, epsilon_high: null }, { epsilonLow: 0.3, epsilonHigh: 0.3 }],
    ["two ε", { epsilon: 0.1, epsilon_high: 0.28 }, { epsilonLow: 0.1, epsilonHigh: 0.28 }],
    [
      "off",
      { delta: null, min_p: null, top_k: -1, max_grad_norm: null },
      { delta: 0, minP: 0, topK: 0, maxGradNorm: 0 },
    ],
    [
      "options that are off",
      { off_policy_mask_threshold: null, steps_per_generation: null },
      { offPolicyMaskThreshold: 0, stepsPerGeneration: 0 },
    ],
    [
      "updates of a set of rollouts",
      { max_steps: 60, gradient_accumulation_steps: 2, steps_per_generation: 6 },
      { steps: 20, accumulation: 2, stepsPerGeneration: 6 },
    ],
    ["rewards that have a weight", { reward_weights: [2, 0.5, 1] }, { loop1Iou: 2, loop2Meteor: 0.5, loop2Judge: 1 }],
    ["rewards as text", { reward_weights: "[2, 0.5 1]" }, { loop1Iou: 2, loop2Meteor: 0.5, loop2Judge: 1 }],
    ["the notes' weight of the KL", { kl_coef: 0.1 }, { beta: 0.1 }],
    ["the notes' clip", { clip_range: 0.3 }, { epsilonLow: 0.3, epsilonHigh: 0.3 }],
    [
      "the notes' weights of the loops",
      { mask_to_caption_weight: 2, caption_to_mask_weight: "0.5" },
      { loop1Weight: 2, loop2Weight: 0.5 },
    ],
    [
      "the notes' batch",
      { batch_size: 4, accumulative_counts: 2, lr: 1e-5 },
      { promptsPerStep: 4, accumulation: 2, learningRate: 1e-5 },
    ],
    [
      "the notes' reward without a judge",
      { use_llm_judge: false, use_llm_judge_loop2: "false" },
      { loop1Meteor: 0, loop1Judge: 0, loop2Meteor: 1, loop2Judge: 0 },
    ],
    ["epochs beside a number of steps", { num_train_epochs: 3, max_steps: 5 }, { steps: 5 }],
    ["what changes nothing", { bf16: true, max_length: 8192 }, {}],
    [
      "adaptive entropy",
      { use_adaptive_entropy: "True", entropy_coef: 0.01, top_entropy_quantile: 0.2, sync_ref_model: true },
      { useAdaptiveEntropy: true, entropyCoef: 0.01, topEntropyQuantile: 0.2, syncRefModel: true },
    ],
    ["a flag for a choice", { scale_rewards: false }, { scaleRewards: "none" }],
    [
      "a flag for a choice, as text",
      { scale_rewards: "True", gradient_checkpointing: "False" },
      { scaleRewards: "group", gradientCheckpointing: false },
    ],
    [
      "a warm-up of no step",
      { lr_scheduler_type: "constant_with_warmup", warmup_steps: 0 },
      { lrSchedulerType: "constant", warmupSteps: 0 },
    ],
  ])("are converted: %s", (_, record, expected) => {
    const { given, problems, unknown } = read(record);
    expect([problems, unknown]).toEqual([[], []]);
    expect(given).toEqual(expected);
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ max_steps: -1 }, /^max_steps -1 sets the length in epochs/],
    [{ max_steps: 31, num_iterations: 2 }, /^max_steps 31 is not a multiple of num_iterations 2/],
    [
      { per_device_train_batch_size: 6, num_generations: 4 },
      /^per_device_train_batch_size 6 is not a multiple of num_generations 4/,
    ],
    [{ num_epochs: 2 }, /^The length of a run is a number of steps, not 2 epochs; set steps to epochs × training rows/],
    [{ use_llm_judge: true }, /^use_llm_judge needs a judge: name it with --judge URL/],
    [
      { reward_weights: [1, 2] },
      new RegExp(
        `^reward_weights must be a list of ${weightKeys(defaultConfig()).length} weights .*, or of 3 for loop1Iou, loop2Meteor, loop2Judge$`,
      ),
    ],
    [
      { max_steps: 7, gradient_accumulation_steps: 2, steps_per_generation: 4 },
      /^max_steps 7 is not a multiple of the 2 updates/,
    ],
    [{ save_total_limit: null }, /^save_total_limit null is not possible/],
    [{ save_strategy: "epoch" }, /^save_strategy must be steps or no, not "epoch"/],
    [{ lr_scheduler_type: "linear" }, /^lr_scheduler_type: lrSchedulerType must be one of /],
    [
      { lr_scheduler_type: "constant_with_warmup", warmup_steps: 5 },
      /^lr_scheduler_type constant_with_warmup is not supported/,
    ],
    [{ use_peft: false }, /^use_peft false trains all weights/],
    [{ num_generations: 1 }, /^num_generations: numGenerations must be a whole number from 2 to 64, not "1"/],
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
    const record = { num_generations: 8, use_vllm: true, packing: true, toString: 1 };
    expect(() => requireConfig(record, undefined, "grpo.yaml")).toThrow(
      /^grpo\.yaml: there are no settings "use_vllm", "packing", "toString"$/,
    );
  });

  it("without a setting can be left out, and each is named in full", () => {
    const names = Array.from({ length: 30 }, (_, at) => `a_name_of_another_trainer_${at}`);
    const record = { steps: 5, save_strategy: "epoch", ...Object.fromEntries(names.map((name) => [name, 1])) };
    const refused = (): unknown => requireConfig(record, undefined, "grpo.yaml");
    expect(refused).toThrow(/^grpo\.yaml: 31 names have no counterpart here$/);
    const list = [
      'save_strategy must be steps or no, not "epoch"',
      ...names.map((name) => `there is no setting "${name}"`),
    ];
    expect(refused).toThrow(expect.objectContaining({ list }));
    expect(refused).toThrow(SkippableSettings);
    const told: string[] = [];
    const config = requireConfig(record, undefined, "grpo.yaml", (line) => told.push(line), true);
    expect(config).toEqual({ ...defaultConfig(), steps: 5 });
    expect(told).toEqual(list.map((line) => `grpo.yaml: left out: ${line}`));
  });

  it("of the lab itself are never left out", () => {
    const wrong = { numGenerations: 1, use_vllm: true };
    expect(() => requireConfig(wrong, undefined, "a.yaml", undefined, true)).toThrow(
      /^a\.yaml: numGenerations must be/,
    );
  });

  it("of a common recipe are read, the others listed", () => {
    const text = readFileSync(new URL("../../support/trl-recipe.yaml", import.meta.url), "utf8");
    const record = readSettingsFile(text, "recipe.yaml");
    const { given, problems, foreign, unknown } = read(record);
    expect(given).toEqual({
      learningRate: 1e-6,
      lrSchedulerType: "cosine",
      minLrRate: 0.1,
      maxCompletionLength: 64,
      steps: 40,
      numGenerations: 8,
      promptsPerStep: 2,
      accumulation: 4,
      gradientCheckpointing: true,
      saveTotalLimit: 1,
      seed: 42,
      temperature: 0.7,
      warmupSteps: 4,
    });
    expect(problems).toEqual(foreign);
    expect(problems.map((sentence) => sentence.split(" ")[0])).toEqual(["reward_weights", "save_strategy"]);
    expect(unknown).toEqual([
      "model_revision",
      "torch_dtype",
      "dataset_prompt_column",
      "system_prompt",
      "use_vllm",
      "vllm_mode",
      "max_prompt_length",
      "reward_funcs",
      "use_liger_kernel",
    ]);
    expect(requireConfig(record, undefined, "recipe.yaml", undefined, true)).toEqual({ ...defaultConfig(), ...given });
  });

  it("are told to callers that read the settings", () => {
    const told: string[] = [];
    requireConfig({ num_generations: 8, logging_steps: 1 }, undefined, "grpo.yaml", (sentence) => told.push(sentence));
    expect(told).toEqual([
      "grpo.yaml: Other names were translated: num_generations is numGenerations 8, logging_steps changes nothing",
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
prompt: |
  two
  lines
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
      prompt: "two\nlines\n",
    });
  });

  it("names what is nested by its path", () => {
    expect(readSettingsFile("a:\n  b: 1\n  c: {d: 2}\ne: {}\n", "a.yaml")).toEqual({ "a.b": 1, "a.c.d": 2, e: {} });
  });

  it.each([
    ["little-endian", [0xff, 0xfe], (unit: number) => [unit & 255, unit >> 8]],
    ["big-endian", [0xfe, 0xff], (unit: number) => [unit >> 8, unit & 255]],
  ])("may be UTF-16, %s", (_, mark, bytesOf) => {
    const units = [..."seed: 3\nsteps: 1\n"].flatMap((letter) => bytesOf(letter.charCodeAt(0)));
    const text = settingsText(Uint8Array.from([...mark, ...units]), "a.yaml");
    expect(readSettingsFile(text, "a.yaml")).toEqual({ seed: 3, steps: 1 });
    expect(() => settingsText(Uint8Array.from(units), "a.yaml")).toThrow(
      /^a\.yaml is not text in UTF-8, or in UTF-16 with a byte order mark; the settings are kept$/,
    );
  });

  it("is YAML that begins like JSON", () => {
    expect(readSettingsFile("{steps: 3, beta: 0.1}", "a.yaml")).toEqual({ steps: 3, beta: 0.1 });
    expect(readSettingsFile('"steps": 3\nbeta: 0.1\n', "a.yml")).toEqual({ steps: 3, beta: 0.1 });
  });

  it("is JSON, or the settings of a run", () => {
    expect(readSettingsFile('{"steps": 3}', "settings.json")).toEqual({ steps: 3 });
    const run = manifest("brave-otter", { config: presetConfig("demo") });
    expect(readSettingsFile(JSON.stringify(run), "run.json")).toEqual(presetConfig("demo"));
  });

  it.each([
    ["settings.json", "steps: 3", /^settings\.json is not valid JSON: .+; the settings are kept$/],
    ["settings.json", '{\n"beta": 1e400}', /a number that is too large, 1e400 in line 2.*; the settings are kept$/],
    ["a.json", "[1]", /^a\.json is not an object of settings/],
    [
      "a.yaml",
      '\nsteps: "3',
      /^a\.yaml cannot be parsed as YAML at line 2 \(Missing closing "quote\); the settings are kept$/,
    ],
    ["a.yaml", `a: ${"[".repeat(300)}`, /^a\.yaml cannot be parsed as YAML at line 1/],
    ["a.yaml", "- 3", /^a\.yaml is not an object of settings/],
    ["a.yaml", "\n# nothing\n", /^a\.yaml contains no settings$/],
  ])("that is something else is named: %s %j", (name, text, sentence) => {
    expect(() => readSettingsFile(text, name)).toThrow(sentence);
  });

  it("is read or refused at once, whatever it repeats", () => {
    const hostile = [
      `a: "${'\\"'.repeat(40_000)}"`,
      `a: "${'\\"'.repeat(40_000)}`,
      Array.from({ length: 50_000 }, (_, at) => `k${at}: ${at}`).join("\n"),
      `a: ${"[".repeat(1_000_000)}`,
      `a: [${",".repeat(300_000)}`,
      "a: &".repeat(50_000),
      "!a ".repeat(50_000),
      "a:\n".repeat(100_000),
      "\n".repeat(1_000_000),
      `a: &a [x]\n${Array.from({ length: 40 }, (_, at) => `a${at}: &b${at} [*a, *a, *a]`).join("\n")}`,
    ];
    for (const text of hostile) {
      try {
        readSettingsFile(text, "a.yaml");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(LabError);
      }
    }
  });
});

describe("names of earlier versions", () => {
  it.each(Object.entries(FORMER_NAMES))("%s sets %s", (former, key) => {
    const value = changedValue(key);
    const { config, problems, unknown } = parseConfig({ [former]: value });
    expect([config[key], problems, unknown]).toEqual([value, [], []]);
    expect(Object.hasOwn(SETTINGS, former)).toBe(false);
  });

  it("lets today's name win, and names both in a problem", () => {
    expect(parseConfig({ groupSize: 3, numGenerations: 5 }).config.numGenerations).toBe(5);
    expect(parseConfig({ groupSize: 1 }).problems).toEqual([
      'groupSize: numGenerations must be a whole number from 2 to 64, not "1"',
    ]);
  });

  it("counts an old size of a group for TRL's batch in the same file", () => {
    const { config } = parseConfig({ per_device_train_batch_size: 6, groupSize: 3 });
    expect([config.numGenerations, config.promptsPerStep]).toEqual([3, 2]);
  });
});

/** A valid value that is not the default. */
function changedValue(key: SettingKey): unknown {
  const setting: Setting = SETTINGS[key];
  switch (setting.kind) {
    case "flag":
      return !setting.default;
    case "choice":
      return setting.choices.find(({ value }) => value !== setting.default)?.value;
    case "text":
      return "other";
    default:
      return setting.default === setting.max ? setting.min : setting.max;
  }
}
