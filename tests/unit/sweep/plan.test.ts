import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { readCommands } from "../../../scripts/lib/sweep/commands.ts";
import { readSweepFile } from "../../../scripts/lib/sweep/sweep-file.ts";
import { sweepPlan } from "../../../src/plugins/sweep/plan.ts";
import { arePluggedIn } from "../../support/plugins.ts";

const folder = mkdtempSync(join(tmpdir(), "lab-commands-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a file of command lines", () => {
  const lines = (text: string): string[] => {
    writeFileSync(join(folder, "commands"), text);
    return readCommands(join(folder, "commands"));
  };
  it("has a place a line, without comments", () => {
    expect(lines("# here\nssh a run {words}\n\n  sh job.sh {folder}  \n")).toEqual([
      "ssh a run {words}",
      "sh job.sh {folder}",
    ]);
  });
  it.each([
    ["", /has no command line; nothing was started$/],
    ["{words}\necho\n", /line 2 has neither \{words\} nor \{folder\}/],
  ])("%j is refused", (text, sentence) => expect(() => lines(text)).toThrow(sentence));
});

const silent = (): void => undefined;
const plan = (content: Record<string, unknown>) => sweepPlan({ title: "t", seeds: [1], ...content }, "s.yaml", silent);
const settings = { evalSteps: 5 };

describe("a sweep's file", () => {
  it("gives a job for each variant and seed, with the settings of preset, file and variant in this order", () => {
    const { jobs } = plan({
      preset: "repair",
      seeds: [7, 8],
      settings: { ...settings, fieldSigma: 0.5, beta: 0 },
      variants: [
        { name: "plain", settings: {} },
        { name: "wide", settings: { fieldSigma: 2 } },
      ],
    });
    expect(jobs.map(({ name }) => name)).toEqual(["plain-s7", "plain-s8", "wide-s7", "wide-s8"]);
    expect(jobs.map(({ config }) => [config.seed, config.fieldSigma, config.beta, config.loops])).toEqual([
      [7, 0.5, 0, "2"],
      [8, 0.5, 0, "2"],
      [7, 2, 0, "2"],
      [8, 2, 0, "2"],
    ]);
  });

  it("names the folders of a grid without marks that paths have", () => {
    const filters = ["category:cup", "shard:../../up/x", "red cup"];
    const { jobs } = plan({ settings, seeds: [1], grid: { rowFilter: filters, learningRate: [1e-5] } });
    expect(jobs.map(({ name }) => name)).toEqual([
      "rowfilter-category-cup.learningrate-0.00001-s1",
      "rowfilter-shard-..-..-up-x.learningrate-0.00001-s1",
      "rowfilter-red cup.learningrate-0.00001-s1",
    ]);
    expect(jobs.map(({ config }) => config.rowFilter)).toEqual(filters);
  });

  it("expands a grid to every combination", () => {
    const { jobs } = plan({ settings, grid: { fieldSigma: [0.3, 0.5], maskPolicy: ["field", "candidates"] } });
    expect(jobs.map(({ variant, config }) => [variant, config.fieldSigma, config.maskPolicy])).toEqual([
      ["fieldsigma-0.3.maskpolicy-field", 0.3, "field"],
      ["fieldsigma-0.3.maskpolicy-candidates", 0.3, "candidates"],
      ["fieldsigma-0.5.maskpolicy-field", 0.5, "field"],
      ["fieldsigma-0.5.maskpolicy-candidates", 0.5, "candidates"],
    ]);
  });

  it.each([
    ["an unknown field", { settings, wat: 1 }, /unknown field "wat"/],
    ["an unknown setting", { settings: { ...settings, wat: 1 } }, /no setting "wat"/],
    ["a bad value of a variant", { settings, variants: [{ name: "a", settings: { beta: -1 } }] }, /variant a: beta/],
    ["runs without an evaluation", { settings: { evalSteps: 0 } }, /evaluates nothing/],
    [
      "two variants of one name",
      {
        settings,
        variants: [
          { name: "a", settings: {} },
          { name: "a", settings: {} },
        ],
      },
      /two variants with the same name/,
    ],
    ["a seed as a setting of a variant", { settings, grid: { seed: [1, 2] } }, /variant seed-1 sets seed, .* seeds/],
    ["a seed as a setting of all", { settings: { ...settings, seed: 2 } }, /^s\.yaml sets seed, .* seeds/],
    [
      "an unknown field of a build",
      { settings, build: [{ script: "damage-pocket", out: "x", word: [] }] },
      /build\.0.* without "word"/,
    ],
    ["a seed twice", { settings, seeds: [3, 3] }, /seed twice/],
    ["a name that is no folder", { settings, variants: [{ name: "../a", settings: {} }] }, /variants\.0\.name/],
    ["a script that is none of the builders", { settings, build: [{ script: "train", out: "x" }] }, /build\.0\.script/],
    [
      "variants and a grid",
      { settings, variants: [{ name: "a", settings: {} }], grid: { beta: [0] } },
      /both variants and a grid/,
    ],
  ])("with %s is refused with its place", (_, content, sentence) => {
    expect(() => plan(content as Record<string, unknown>)).toThrow(sentence);
  });
});

describe("the experiments of the project", () => {
  const files = readdirSync(join(root, "experiments")).filter((name) => /\.ya?ml$/.test(name));

  it("are there", () => expect(files.length).toBeGreaterThan(0));

  /** Plug-ins whose settings some of them change. */
  const needed: Readonly<Record<string, string>> = {
    "clips.yaml": "clips",
    "loop2-pathwise.yaml": "mask-policies",
    "mask-policies-damaged.yaml": "mask-policies",
    "mask-policies.yaml": "mask-policies",
  };
  const readable = files.filter((file) => arePluggedIn(...[needed[file] ?? []].flat()));

  it.each(readable)("%s can be read, has three seeds, a question, and a shuffled control", (file) => {
    const { jobs, question } = readSweepFile(join(root, "experiments", file), silent);
    expect(question).not.toBeNull();
    expect(new Set(jobs.map(({ seed }) => seed)).size).toBeGreaterThanOrEqual(3);
    expect(jobs.some(({ config }) => config.shuffleRewards)).toBe(true);
  });
});
