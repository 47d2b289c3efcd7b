import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import {
  configDifference,
  defaultConfig,
  parseConfig,
  parseSetting,
  requireConfig,
  SETTING_KEYS,
} from "../../../src/engine/config/parse.ts";
import { PRESETS, presetConfig } from "../../../src/engine/config/presets.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { SETTINGS } from "../../../src/engine/config/table.ts";

describe("the table of settings", () => {
  it("accepts every default and every preset", () => {
    expect(parseConfig(defaultConfig()).problems).toEqual([]);
    for (const { name } of PRESETS)
      expect(parseConfig(presetConfig(name)), name).toMatchObject({ problems: [], unknown: [] });
  });

  it("has every preset that keeps rows apart score them at the start, a few times on the way and at the end", () => {
    for (const { name } of PRESETS) {
      const { steps, evalSteps, heldOutShare } = presetConfig(name);
      if (heldOutShare === 0) expect(evalSteps, name).toBe(0);
      else expect([4, 5], name).toContain(steps / evalSteps);
    }
  });

  it("names the range of published recipes inside the allowed one, with the numbers of the specification", () => {
    const spec = readFileSync(join(root, "docs/spec/grpo.md"), "utf8");
    const [, table = ""] = /## 12\. Defaults\n(.*?)\n## /s.exec(spec) ?? [];
    const named = SETTING_KEYS.flatMap((key) => {
      const setting: Setting = SETTINGS[key];
      return "healthy" in setting && setting.healthy !== undefined
        ? [{ key, ...setting, healthy: setting.healthy }]
        : [];
    });
    expect(named.map(({ key }) => key)).toContain("learningRate");
    for (const { key, min, max, healthy } of named) {
      const [low, high] = healthy;
      expect(min <= low && low < high && high <= max, key).toBe(true);
      for (const end of healthy)
        expect(table, key).toContain(end < 1e-3 && end > 0 ? end.toExponential() : String(end));
    }
  });

  it("survives the way through text, as in a page address", () => {
    for (const { name } of PRESETS) {
      const config = presetConfig(name);
      const text = new URLSearchParams(Object.entries(config).map(([key, value]) => [key, String(value)]));
      expect(parseConfig(Object.fromEntries(new URLSearchParams(String(text)))).config).toEqual(config);
    }
  });

  it("refuses values just outside each range with a sentence that names the setting", () => {
    for (const key of SETTING_KEYS) {
      const setting: Setting = SETTINGS[key];
      const wrong =
        setting.kind === "choice"
          ? ["", "nonsense"]
          : setting.kind === "flag"
            ? ["maybe", 2]
            : setting.kind === "text"
              ? [null, 5, "x".repeat(setting.maxLength + 1)]
              : ["", "x", null, Number.NaN, setting.min - 1, setting.max + 1];
      for (const value of wrong) {
        const parsed = parseSetting(key, value);
        expect("problem" in parsed ? parsed.problem : `accepted ${String(value)}`, key).toMatch(
          new RegExp(`^${key} must be `),
        );
      }
    }
  });

  it("keeps the good values beside bad and unknown ones", () => {
    const parsed = parseConfig({ steps: "7", numGenerations: 1, colour: "red" });
    expect(parsed.config.steps).toBe(7);
    expect(parsed.config.numGenerations).toBe(defaultConfig().numGenerations);
    expect(parsed.problems).toHaveLength(1);
    expect(parsed.unknown).toEqual(["colour"]);
    expect(() => requireConfig({ colour: "red" }, undefined, "run.json")).toThrow(
      /run\.json: there is no setting "colour"/,
    );
  });

  it("tells what differs", () => {
    expect(configDifference({ ...defaultConfig(), steps: 9 }, defaultConfig())).toEqual({ steps: 9 });
  });
});
