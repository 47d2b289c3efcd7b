/** A preset takes the place of another one only where nothing of that was changed. */
import { beforeEach, expect, it } from "vitest";
import { changeConfig, choosePreset, replacePreset, useSession } from "../../../src/app/stores/session.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";

beforeEach(() => choosePreset("demo"));

it("replaces an unchanged preset with all its values", () => {
  replacePreset("demo", "real");
  expect(useSession.getState()).toMatchObject({ preset: "real", config: presetConfig("real") });
});

it("keeps the row filter, which is about the open rows", () => {
  changeConfig({ rowFilter: "category:cup" });
  choosePreset("repair");
  expect(useSession.getState().config).toEqual({ ...presetConfig("repair"), rowFilter: "category:cup" });
  changeConfig({ rowFilter: "" });
});

it("keeps the user's settings", () => {
  changeConfig({ numGenerations: 3 });
  replacePreset("demo", "real");
  expect(useSession.getState()).toMatchObject({ preset: "demo", config: { numGenerations: 3 } });
  choosePreset("repair");
  replacePreset("demo", "real");
  expect(useSession.getState().preset).toBe("repair");
});
