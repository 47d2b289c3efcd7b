import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { parseManifest } from "../../../src/engine/runs/manifest.ts";
import { ownSettings, runParts, settingsOf } from "../../../src/engine/runs/run-parts.ts";
import { testWith } from "../../support/plugins.ts";

const MANIFEST = {
  format: "sa2va-lab-run/1",
  id: "a-1",
  title: "a",
  created: "2026-01-01T00:00:00.000Z",
  version: "0.1.0",
  config: { ...defaultConfig(), steps: 7 },
  model: { name: "m", hash: "h", parameters: 5, trainableParameters: 3, template: "qwen_chat", base: "b" },
  data: { name: "d", rows: 4, trainRows: 3, heldOutRows: 1, hash: "h" },
  adapter: { vendor: "v", architecture: "", description: "", software: true },
  state: "paused",
};

const problemOf = (change: object): string => {
  const parsed = parseManifest({ ...MANIFEST, ...change });
  return "problem" in parsed ? parsed.problem : "none";
};

describe("a stored manifest", () => {
  it("comes back whole, also after a way through JSON", () => {
    expect(parseManifest(JSON.parse(JSON.stringify(MANIFEST)))).toEqual({ manifest: MANIFEST });
  });

  it("keeps what not every run has", () => {
    const full = { ...MANIFEST, startAdapter: { name: "s", hash: "h" }, selfTest: { checks: 23, failed: ["RMSNorm"] } };
    expect(parseManifest(JSON.parse(JSON.stringify(full)))).toEqual({ manifest: full });
    expect(problemOf({ selfTest: { checks: "all", failed: [] } })).toMatch(/"selfTest\.checks"/);
  });

  it("without a title is named by its id: a link needs a text", () => {
    expect(parseManifest({ ...MANIFEST, title: " " })).toEqual({ manifest: { ...MANIFEST, title: "a-1" } });
  });

  it("has a title without marks that turn the text after it around", () => {
    const title = "\u202Edet\u2067fig\n";
    expect(parseManifest({ ...MANIFEST, title })).toEqual({ manifest: { ...MANIFEST, title: "detfig" } });
  });

  it("keeps keys that this version does not know", () => {
    const segments = [{ fromStep: 3, engine: "other", world: 8 }];
    const model = { ...MANIFEST.model, contentHash: "h" };
    const other = {
      ...{ ...MANIFEST, segments, model, adapter: { ...MANIFEST.adapter, cards: 8 } },
      ...{ startAdapter: { name: "s", hash: "h", rank: 4 }, captioner: { name: "c", hash: "h", rank: 4 } },
      ...{ selfTest: { checks: 2, failed: [], seconds: 3 }, forkedFrom: { run: "b", step: 2, at: "x" } },
      lengths: [{ afterStep: 1, from: 5, to: 7, by: "x" }],
      smaller: [{ afterStep: 1, settings: ["microRollouts"], by: "x" }],
    };
    expect(parseManifest(JSON.parse(JSON.stringify(other)))).toEqual({ manifest: other });
  });

  testWith("trl")("has the settings of each step, also where a part changed them under former names", () => {
    const config = { ...MANIFEST.config, promptsPerStep: 8, numGenerations: 6 };
    const segments = [
      { fromStep: 3, engine: "other", changed: { promptsPerStep: { from: 2, to: 4 } } },
      { fromStep: 5, engine: "other", changed: { promptsPerStep: { from: 4, to: 8 }, groupSize: { from: 4, to: 6 } } },
    ];
    const sizes = [1, 3, 4, 5, 6].map((step) => {
      const { promptsPerStep, numGenerations } = settingsOf({ config, segments }, step);
      return [promptsPerStep, numGenerations];
    });
    expect(sizes).toEqual([
      [2, 4],
      [2, 4],
      [4, 4],
      [4, 4],
      [8, 6],
    ]);
    expect(settingsOf({ config }, 1)).toBe(config);
    // The lab continues with the settings of its own last part.
    expect(ownSettings({ config, segments })).toMatchObject({
      promptsPerStep: 2,
      numGenerations: 4,
      steps: config.steps,
    });
    expect(ownSettings({ config, segments: [...segments, { fromStep: 6, engine: "lab" }] })).toBe(config);
    const taken = [segments[0], { fromStep: 4, engine: "lab" }, segments[1]] as typeof segments;
    expect(ownSettings({ config, segments: taken })).toMatchObject({ promptsPerStep: 4, numGenerations: 4 });
    expect(ownSettings({ config })).toBe(config);
  });

  it("says which program computed which steps", () => {
    const changed = { promptsPerStep: { from: 2, to: 8 } };
    const parts = [
      { fromStep: 3, engine: "other", world: 8, device: "cpu", dtype: "f32", changed },
      { fromStep: 5, engine: "other" },
      { fromStep: 5, engine: "lab", version: "1" },
    ];
    expect(runParts({ segments: parts }, 9)).toEqual([
      { first: 1, last: 3, by: "lab", changed: {} },
      { first: 4, last: 5, by: "other, 8 processes, cpu, f32", changed },
      { first: 6, last: 9, by: "lab", changed: {} },
    ]);
    expect(runParts({ segments: parts }, 4).at(-1)).toMatchObject({ first: 4, last: 4 });
    expect(runParts({}, 9)).toEqual([]);
  });

  it("of an older version takes the defaults of settings it did not know", () => {
    const { evalSteps: _, ...older } = MANIFEST.config;
    expect(parseManifest({ ...MANIFEST, config: older })).toEqual({ manifest: MANIFEST });
  });

  it("is refused with the place that is wrong", () => {
    expect(problemOf({ state: "gone" })).toMatch(/"state"/);
    expect(problemOf({ model: { ...MANIFEST.model, parameters: -1 } })).toMatch(/"model\.parameters"/);
    expect(problemOf({ id: "../up" })).toMatch(/"id"/);
    expect(problemOf({ adapter: undefined })).toMatch(/"adapter"/);
    expect(problemOf({ config: { ...MANIFEST.config, numGenerations: 1 } })).toMatch(/numGenerations must be/);
  });
});
