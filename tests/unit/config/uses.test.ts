/** Settings that a run reads. */
import { expect, it } from "vitest";
import { SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import { PRESETS, presetConfig } from "../../../src/engine/config/presets.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { SETTINGS, type SettingKey } from "../../../src/engine/config/table.ts";
import { settingNote, usesSetting } from "../../../src/engine/config/uses.ts";

const demo = presetConfig("demo");

it.each(PRESETS.map(({ name }) => name))("a preset sets no main setting in vain: %s", (name) => {
  const config = presetConfig(name);
  const main = SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting).main === true && usesSetting(key, config));
  expect(main.length).toBeGreaterThan(11);
  expect(main.length).toBeLessThan(19);
});

it.each([
  ["maskPolicy", {}, { loops: "1" }],
  ["candidateTemperature", { maskPolicy: "proposals" }, { maskPolicy: "field" }],
  ["fieldSigma", { maskPolicy: "field" }, { maskPolicy: "candidates" }],
  ["loop1Iou", {}, { loops: "2" }],
  ["judgeTimeout", { judge: "questions" }, {}],
  ["evalRows", {}, { evalSteps: 0 }],
  ["vespoKPos", { lossType: "vespo" }, {}],
  ["partnerSamples", { partnerTemperature: 1 }, {}],
  ["userReward", { loop2User: 1 }, { loop3User: 1 }],
  ["klEstimator", { objective: "notes", beta: 0 }, { beta: 0 }],
] as const)("%s is read with %j, not with %j", (key: SettingKey, used, unused) => {
  expect(usesSetting(key, { ...demo, ...used })).toBe(true);
  expect(usesSetting(key, { ...demo, ...unused })).toBe(false);
});

it("loops of weight 0 are named beside the choice of loops, and nothing else has a note", () => {
  const notes = (config: typeof demo) => SETTING_KEYS.flatMap((key) => settingNote(key, config) ?? []);
  expect(notes({ ...demo, loop2Weight: 0 })).toEqual(["Loop 2 has weight 0: it is shown and does not train"]);
  expect(notes({ ...demo, loop1Weight: 1, loop2Weight: 1 })).toEqual([]);
});
