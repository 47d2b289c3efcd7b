/** Settings of loop 3, and the form of its answers. */
import { expect, it } from "vitest";
import { defaultConfig, requireConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { usesSetting } from "../../../src/engine/config/uses.ts";
import { FORM } from "../../../src/engine/rewards/terms/registry.ts";
import { settingBlockers } from "../../../src/engine/rl/run/start/blockers.ts";

const MODEL = {
  tiling: { minTiles: 1, maxTiles: 12, tileSize: 448, useThumbnail: true },
  config: { sam2: { imageSize: 1024 } },
};

it("a run of loop 3 alone needs its weight", () => {
  const sentence = "Loop 3 has weight 0 and would learn nothing. Raise “Loop 3 weight”";
  const told = settingBlockers(MODEL, requireConfig({ loops: "3" }, defaultConfig()));
  expect(told).toMatchObject([{ setting: "loop3Weight", sentence }]);
});

it("the weights of its terms are read once it has a weight", () => {
  const demo = presetConfig("demo");
  expect(usesSetting("loop3Weight", demo)).toBe(true);
  expect(usesSetting("loop3Meteor", { ...demo, loop3Weight: 1 })).toBe(true);
  expect(usesSetting("loop3Meteor", demo)).toBe(false);
});

it("an answer is expected without [SEG]", () => {
  const facts = { loop: 3, reference: "red", caption: "red", given: null, predicted: null, confidence: null } as const;
  expect(FORM.measure({ ...facts, truncated: false, segments: 0 }).value).toBe(1);
  expect(FORM.measure({ ...facts, truncated: false, segments: 1 }).value).toBe(0.5);
});
