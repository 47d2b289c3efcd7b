import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseArguments } from "../../../scripts/lib/arguments.ts";
import { JUDGE_OPTIONS } from "../../../scripts/lib/node/node-judge.ts";
import { chosenSettings, knownWords, SETTINGS_OPTIONS } from "../../../scripts/lib/settings-flags.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { testWith } from "../../support/plugins.ts";
import { tool } from "../../support/tools.ts";

let scratch = "";
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "set-"));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const OPTIONS = { ...SETTINGS_OPTIONS, ...JUDGE_OPTIONS, steps: { takes: 1 } } as const;

function chosen(...words: string[]) {
  const told: string[] = [];
  const parsed = parseArguments(knownWords(words, OPTIONS), OPTIONS);
  return { ...chosenSettings(parsed, [["steps", "steps"]], (sentence) => told.push(sentence)), told };
}

describe("--set", () => {
  it("gives any setting, as often as wanted, and the last one counts", () => {
    const words = ["--set", "numGenerations=6", "--set=loraR=4", "--set", "leakWords=a=b", "--set", "numGenerations=5"];
    const { preset, config, given, told } = chosen(...words, "--set", "haltOnNan=true");
    const expected = { numGenerations: 5, loraR: 4, leakWords: "a=b", haltOnNan: true };
    expect(given).toEqual(expected);
    expect(config).toEqual({ ...presetConfig("demo"), ...expected });
    expect([preset, told]).toEqual(["demo", []]);
  });

  testWith("supervised", "question-answer")("says which loop settings supervised steps do not use", () => {
    const words = ["--set", "mode=sft", "--set", "loop2Weight=0.3"];
    expect(chosen(...words, "--set", "loops=3").told).toEqual(["Supervised steps do not use loops=3, loop2Weight"]);
    expect(chosen("--set", "mode=sft", "--set", "loops=2").told).toEqual([]);
    expect(chosen("--set", "loop2Weight=0.3").told).toEqual([]);
  });

  testWith("trl")("wins over flags, these over the file, and that over the preset", async () => {
    const file = join(scratch, "grpo.yaml");
    await writeFile(file, "max_steps: 9\nnum_generations: 6\nlearning_rate: 1e-5\neval_strategy: no\n");
    const { preset, given, told } = chosen(
      "--preset",
      "repair",
      "--config",
      file,
      "--steps",
      "8",
      "--set",
      "lora_r=8",
      "--set",
      "num_generations=4",
    );
    expect(preset).toBe("repair");
    expect(given).toEqual({ steps: 8, numGenerations: 4, learningRate: 1e-5, evalSteps: 0, loraR: 8 });
    expect(told).toEqual([
      `${file}: Other names were translated: num_generations is numGenerations 6, max_steps is steps 9, learning_rate is learningRate 0.00001, eval_strategy is evalSteps 0`,
      "--set: Other names were translated: num_generations is numGenerations 4, lora_r is loraR 8",
    ]);
    expect(chosen("--steps", "8", "--set", "max_steps=7").config.steps).toBe(7);
  });

  it.each([
    ["numGenerations", /^--set takes name=value, such as numGenerations=8, not "numGenerations"$/],
    ["=8", /^--set takes name=value/],
    ["numGenerations=1", /^--set: numGenerations must be a whole number from 2 to 64, not "1"$/],
    ["numGenerations=0x10", /^--set: numGenerations must be a whole number from 2 to 64, not "0x10"$/],
    ["use_vllm=true", /^--set: there is no setting "use_vllm"$/],
  ])("refuses %s with a sentence", (word, sentence) => {
    expect(() => chosen("--set", word)).toThrow(sentence);
  });

  testWith("trl").each([
    [
      "num_generations=0b100",
      /^--set: num_generations: numGenerations must be a whole number from 2 to 64, not "0b100"$/,
    ],
    ["groupsize=8", /^--set: there is no setting "groupsize" \(did you mean numGenerations\?\)$/],
    ["num_epochs=2", /^--set: The length of a run is a number of steps, not 2 epochs/],
  ])("refuses %s with a sentence", (word, sentence) => {
    expect(() => chosen("--set", word)).toThrow(sentence);
  });
});

describe("options of other training scripts", () => {
  testWith("trl")("are settings under any name that --set knows", () => {
    const words =
      "--kl_coef 0.1 --clip_range=0.3 --num_generations 4 --batch_size 2 --mask_to_caption_weight 2 --lora_dropout 0".split(
        " ",
      );
    const { given, told } = chosen(...words, "--use_adaptive_entropy", "--steps", "3", "--set", "kl_coef=0.2");
    expect(given).toEqual({
      beta: 0.2,
      epsilonLow: 0.3,
      epsilonHigh: 0.3,
      numGenerations: 4,
      promptsPerStep: 2,
      loop1Weight: 2,
      loraDropout: 0,
      useAdaptiveEntropy: true,
      steps: 3,
    });
    expect(told[0]).toContain("kl_coef is beta 0.2");
    expect(() => chosen("--num_epochs", "2")).toThrow(/a number of steps, not 2 epochs/);
    expect(() => chosen("--use_llm_judge")).toThrow(/use_llm_judge needs a judge/);
    const { given: judged } = chosen("--use_llm_judge", "--judge", "http://localhost:1/v1");
    expect(judged).toMatchObject({ loop1Meteor: 0.25, loop1Judge: 0.75 });
  });

  it("name model, data and output as ours do", () => {
    const specs = {
      model: { takes: 1 },
      checkpoint: { takes: 1 },
      shards: { takes: "many" },
      out: { takes: 1 },
    } as const;
    const words = ["--model_path", scratch, "--dataset_name", "a", "b", "--output_dir=out", "--nonsense", "1"];
    expect(knownWords(words, specs)).toEqual([
      "--model",
      scratch,
      "--shards",
      "a",
      "b",
      "--out",
      "out",
      "--nonsense",
      "1",
    ]);
    expect(knownWords(["--model_path", "owner/name"], specs)).toEqual(["--checkpoint", "owner/name"]);
  });
});

describe.each([
  ["train", ["--shards"]],
  ["lab", ["--headless", "--model"]],
] as const)("npm run %s", (name, [...words]) => {
  const nowhere = "no-such-folder";

  testWith("trl")("takes --set and continues to what it needs next", async () => {
    const set = ["--set", "num_generations=4", "--set", "steps=2"];
    const { code, err } = await tool(name, ["--out", join(scratch, name), ...set, ...words, nowhere]);
    expect(err).toMatch(/^--set: Other names were translated: num_generations is numGenerations 4\n/);
    expect(err.split("\n")[1]).toContain(nowhere);
    expect(code).toBe(2);
  });

  it("ends with code 2 and a sentence when a value is wrong", async () => {
    const { code, err } = await tool(name, [
      "--out",
      join(scratch, name),
      ...words,
      nowhere,
      "--set",
      "numGenerations=99",
    ]);
    expect([code, err]).toEqual([2, '--set: numGenerations must be a whole number from 2 to 64, not "99"\n']);
  });

  it("names --set among the arguments it knows", async () => {
    const { code, err } = await tool(name, ["--help"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^Unknown argument "--help"; known are .*--set/);
  });
});
