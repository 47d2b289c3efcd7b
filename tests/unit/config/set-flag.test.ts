import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseArguments } from "../../../scripts/lib/arguments.ts";
import { JUDGE_OPTIONS } from "../../../scripts/lib/node-judge.ts";
import { chosenSettings, SETTINGS_OPTIONS } from "../../../scripts/lib/settings-flags.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { tool } from "../../support/tools.ts";

let scratch = "";
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "set-"));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const OPTIONS = { ...SETTINGS_OPTIONS, ...JUDGE_OPTIONS, steps: { takes: 1 } } as const;

function chosen(...words: string[]) {
  const told: string[] = [];
  const parsed = parseArguments(words, OPTIONS);
  return { ...chosenSettings(parsed, [["steps", "steps"]], (sentence) => told.push(sentence)), told };
}

describe("--set", () => {
  it("gives any setting, as often as wanted, and the last one counts", () => {
    const words = ["--set", "groupSize=6", "--set=loraRank=4", "--set", "leakWords=a=b", "--set", "groupSize=5"];
    const { preset, config, given, told } = chosen(...words, "--set", "haltOnNan=true");
    const expected = { groupSize: 5, loraRank: 4, leakWords: "a=b", haltOnNan: true };
    expect(given).toEqual(expected);
    expect(config).toEqual({ ...presetConfig("demo"), ...expected });
    expect([preset, told]).toEqual(["demo", []]);
  });

  it("wins over flags, these over the file, and that over the preset", async () => {
    const file = join(scratch, "grpo.yaml");
    await writeFile(file, "max_steps: 9\nnum_generations: 6\nlearning_rate: 1e-5\neval_strategy: no\n");
    const { preset, given, told } = chosen(
      "--preset",
      "loop1",
      "--config",
      file,
      "--steps",
      "8",
      "--set",
      "lora_r=8",
      "--set",
      "num_generations=4",
    );
    expect(preset).toBe("loop1");
    expect(given).toEqual({ steps: 8, groupSize: 4, learningRate: 1e-5, evalSteps: 0, loraRank: 8 });
    expect(told).toEqual([
      `${file}: TRL's names were translated: num_generations is groupSize 6, max_steps is steps 9, learning_rate is learningRate 0.00001, eval_strategy is evalSteps 0`,
      "--set: TRL's names were translated: num_generations is groupSize 4, lora_r is loraRank 8",
    ]);
    expect(chosen("--steps", "8", "--set", "max_steps=7").config.steps).toBe(7);
  });

  it.each([
    ["groupSize", /^--set takes name=value, such as groupSize=8, not "groupSize"$/],
    ["=8", /^--set takes name=value/],
    ["groupSize=1", /^--set: groupSize must be a whole number from 2 to 64, not "1"$/],
    ["groupsize=8", /^--set: there is no setting "groupsize"$/],
    ["lora_dropout=0", /^--set: there is no setting "lora_dropout"$/],
  ])("refuses %s with a sentence", (word, sentence) => {
    expect(() => chosen("--set", word)).toThrow(sentence);
  });
});

describe.each([
  ["train", ["--shards"]],
  ["lab", ["--headless", "--model"]],
] as const)("npm run %s", (name, [...words]) => {
  const nowhere = "no-such-folder";

  it("takes --set and goes on to what it needs next", async () => {
    const set = ["--set", "num_generations=4", "--set", "steps=2"];
    const { code, err } = await tool(name, ["--out", join(scratch, name), ...set, ...words, nowhere]);
    expect(err).toMatch(/^--set: TRL's names were translated: num_generations is groupSize 4\n/);
    expect(err.split("\n")[1]).toContain(nowhere);
    expect(code).toBe(2);
  });

  it("ends with code 2 and a sentence when a value is wrong", async () => {
    const { code, err } = await tool(name, ["--out", join(scratch, name), ...words, nowhere, "--set", "groupSize=99"]);
    expect([code, err]).toEqual([2, '--set: groupSize must be a whole number from 2 to 64, not "99"\n']);
  });

  it("names --set among the arguments it knows", async () => {
    const { code, err } = await tool(name, ["--help"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^Unknown argument "--help"; known are .*--set/);
  });
});
