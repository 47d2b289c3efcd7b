/** Regions drawn into the picture of the vision tower, and what the plan says about them. */
import { expect, test } from "vitest";
import { qwenConfig } from "../../../bench/made-up/qwen.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { parseSa2vaConfig, regionPromptOf } from "../../../src/engine/model/config.ts";
import { forecast } from "../../../src/engine/plan/fit.ts";
import { markedPicture } from "../../../src/engine/policy/region-marks.ts";
import { testWith } from "../../support/plugins.ts";

const SIDE = 24;
const picture = { width: SIDE, height: SIDE, data: new Uint8Array(3 * SIDE * SIDE).fill(100) };
/** A square of 10 x 10 pixels in the corner. */
const mask = Uint8Array.from({ length: SIDE * SIDE }, (_, at) => Number(at % SIDE < 10 && at < 10 * SIDE));

test("an outline lies on both sides of the edge, and not along the picture's own", () => {
  const { data } = markedPicture(picture, mask, "outline");
  const red = Array.from({ length: SIDE * SIDE }, (_, at) => Number(data[3 * at] === 255 && data[3 * at + 1] === 0));
  const row = red.slice(4 * SIDE, 5 * SIDE);
  expect(row.flatMap((on, x) => (on === 1 ? [x] : []))).toEqual([9, 10]);
  // Two lines of ten pixels, two wide, that meet in a corner; the region touches two sides of the picture.
  expect(red.reduce((sum, on) => sum + on, 0)).toBe(2 * 2 * 10 - 4 + 4);
  expect(picture.data.every((value) => value === 100)).toBe(true);
});

test("dimming leaves the region as it is", () => {
  const { data } = markedPicture(picture, mask, "dim");
  for (const [at, inside] of mask.entries()) expect(data[3 * at]).toBe(inside === 1 ? 100 : 35);
});

testWith("qwen-vl")("drawn regions are the default where the release knows no others, and the plan counts them", () => {
  const model = parseSa2vaConfig(qwenConfig("qwen3-vl-2b"));
  expect(regionPromptOf(model, "auto")).toBe("outline");
  expect(regionPromptOf({ regionPrompt: "tokens" }, "auto")).toBe("tokens");
  const storage = { language: "f16", towers: "f16" } as const;
  const rate = { flops: 1e12, dispatch: 1e-5 };
  const of = (regionPrompt: "auto" | "tokens") => forecast(model, { ...defaultConfig(), regionPrompt }, storage, rate);
  const [drawn, copied] = [of("auto"), of("tokens")];
  expect(drawn.group.drawn).toBeGreaterThan(0);
  expect(copied.group.drawn).toBe(0);
  expect(drawn.transient.features).toBeGreaterThan(copied.transient.features);
  expect(drawn.stepSeconds).toBeGreaterThan(copied.stepSeconds as number);
  // Frozen mergers have no copy that trains.
  expect(drawn.trainable.blocks.projector).toBe(0);
  // 2.66 G values with SAM2, of which about 100 M of the mergers are held in f32.
  expect(drawn.weights.frozenBytes + drawn.weights.publishedBytes).toBeGreaterThan(2 * 2.6e9);
  expect(drawn.weights.frozenBytes + drawn.weights.publishedBytes).toBeLessThan(6.5e9);
});
