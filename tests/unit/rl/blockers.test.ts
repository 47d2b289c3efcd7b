import { describe, expect, it } from "vitest";
import { defaultConfig, parseSetting, requireConfig, SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { type LabConfig, SETTINGS } from "../../../src/engine/config/table.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { refuseBlockers, settingBlockers } from "../../../src/engine/rl/run/start/blockers.ts";

const MODEL = {
  tiling: { minTiles: 1, maxTiles: 12, tileSize: 448, useThumbnail: true },
  config: { sam2: { imageSize: 1024 } },
};

const told = (changes: Partial<LabConfig>, model: typeof MODEL = MODEL) =>
  settingBlockers(model, requireConfig(changes, defaultConfig()));

describe("settings that no step can be taken with", () => {
  it("are named before the start, in one sentence", () => {
    expect(told({ delta: 0.5 })).toEqual([
      { setting: "delta", sentence: "Loss setting delta must be above 1, or 0 for none; no loss was computed." },
    ]);
    expect(told({ delta: 1 })).toHaveLength(1);
    expect(told({ maskPolicy: "field", fieldGrid: 7 })[0]?.setting).toBe("fieldGrid");
    expect(told({ maxTiles: 1 }, { ...MODEL, tiling: { ...MODEL.tiling, minTiles: 2 } })[0]?.sentence).toBe(
      "At most 1 tiles are allowed, this model cuts a picture into at least 2; raise maxTiles",
    );
    const refuse = () => refuseBlockers(MODEL, { ...defaultConfig(), delta: 0.5 });
    expect(refuse).toThrow(LabError);
    expect(refuse).toThrow(/delta must be above 1, or 0/);
  });

  it("are bounds of the entropy bonus in the wrong order", () => {
    const bounds = { entropyCoefMin: 0.5, entropyCoefMax: 0.1 };
    expect(told(bounds)).toEqual([]);
    expect(told({ ...bounds, useAdaptiveEntropy: true })).toEqual([
      {
        setting: "entropyCoefMin",
        sentence: expect.stringContaining("a minimum of 0.5 above its maximum of 0.1"),
      },
    ]);
  });

  it("are a weight of the custom reward without a function", () => {
    expect(told({ loop1User: 1 })).toEqual([
      { setting: "userReward", sentence: expect.stringMatching(/has a weight but no function/), remedy: "rewards" },
    ]);
    expect(told({ loop1User: 1, userReward: "function reward() { return 1; }" })).toEqual([]);
    expect(told({ loop1User: 1, loops: "2" })).toEqual([]);
  });

  it("are weights of 0 for all loops that train", () => {
    const sentence = "Loop 2 has weight 0 and would learn nothing. Raise “Loop 2 weight”";
    const remedy = { label: "Set Loop 2 weight to 1", values: { loop2Weight: 1 } };
    expect(told({ loops: "2", loop2Weight: 0 })).toEqual([{ setting: "loop2Weight", sentence, remedy }]);
    expect(told({ loops: "both", loop1Weight: 0, loop2Weight: 0 })[0]?.sentence).toMatch(/^All loops have weight 0/);
    expect(told({ loops: "both", loop1Weight: 0 })).toEqual([]);
  });

  it("are conditions on rows that cannot be read", () => {
    expect(told({ rowFilter: "area:small red" })).toEqual([
      { setting: "rowFilter", sentence: 'rowFilter has "area:small", which is not a range such as area:0.01..0.2' },
    ]);
    expect(told({ rowFilter: "area:0.01..0.2 red" })).toEqual([]);
  });

  it("do not matter where they are not used", () => {
    expect(told({ loops: "1", maskPolicy: "field", fieldGrid: 7 })).toEqual([]);
    expect(told({ delta: 0 })).toEqual([]);
  });

  it("are none of the table's own limits", () => {
    for (const key of SETTING_KEYS) {
      const setting: Setting = SETTINGS[key];
      const values: readonly unknown[] =
        setting.kind === "choice"
          ? setting.choices.map(({ value }) => value)
          : setting.kind === "int" || setting.kind === "float"
            ? [setting.min, setting.max]
            : [];
      const base = { userReward: "function reward() { return 1; }" };
      // A loop that trains alone needs a weight.
      const own = (value: unknown) => (key === "loops" && value !== "both" ? { [`loop${value}Weight`]: 1 } : {});
      for (const value of values)
        expect(told({ ...base, ...own(value), [key]: value }), `${key} = ${String(value)}`).toEqual([]);
    }
    expect(parseSetting("epsilonLow", 1)).toHaveProperty("problem");
    expect(parseSetting("epsilonLow", 0.99)).toEqual({ value: 0.99 });
  });
});
