import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { groupShape } from "../../../src/engine/plan/fit.ts";
import { CARDS, type Card, manyGpuStep, shapeOf, stepTokens } from "../../../src/engine/plan/many-gpus.ts";
import { elements, modelShapes } from "../../../src/engine/plan/weights.ts";
import { stepWork, tokenFlops } from "../../../src/engine/plan/work.ts";
import { publishedConfig } from "./published.ts";

const [A100, H100] = CARDS as [Card, Card];
/** The settings of the document's tables. */
const config: LabConfig = {
  ...defaultConfig(),
  ...{ promptsPerStep: 16, accumulation: 1, groupSize: 8, maxNewTokens: 64, partnerMaxTokens: 64, maxTiles: 12 },
  ...{ beta: 0.04, iterations: 1, objective: "grpo" },
};
const SHAPES = {
  "1B": { language: 0.358e9, layers: 24, trained: 65e6 },
  "4B": { language: 2.77e9, layers: 36, trained: 261e6 },
  "8B": { language: 6.98e9, layers: 32, trained: 350e6 },
};

test.each(["1B", "4B"] as const)("the model of a step of %s is near what its tensors' shapes count", (name) => {
  const model = parseSa2vaConfig(publishedConfig(name));
  const parameters = modelShapes(model).reduce((sum, [, shape]) => sum + elements(shape), 0);
  const multiplied = tokenFlops(model) / 2;
  expect(SHAPES[name].language / multiplied).toBeCloseTo(1, 2);
  expect(SHAPES[name].layers).toBe(model.language.layers);
  expect(shapeOf(parameters, 0).language / multiplied).toBeGreaterThan(0.9);
  expect(shapeOf(parameters, 0).language / multiplied).toBeLessThan(1.15);
  const options = { loops: 2, captions: true, masks: true, recompute: true, microBatches: false, reference: true };
  const shape = { ...groupShape(model, config), groups: 1 };
  const counted = stepWork(model, shape, { ...options, passes: 1, newPictures: 0 }).flops;
  const modelled = 2 * multiplied * stepTokens(config);
  expect(modelled / counted).toBeGreaterThan(0.8);
  expect(modelled / counted).toBeLessThan(1.1);
});

test("the document's table is the model's", () => {
  const page = readFileSync(join(root, "docs", "scale-out.md"), "utf8");
  for (const [name, shape] of Object.entries(SHAPES)) {
    const [a, h] = [A100, H100].map((card) => manyGpuStep(shape, config, 8, card));
    const nodes = manyGpuStep(shape, { ...config, promptsPerStep: 32 }, 16, A100, 1.25e9);
    const cells = [a?.decode, a?.compute, a?.seconds, h?.seconds, nodes.seconds].map(
      (value) => `${value?.toFixed(1)} s`,
    );
    expect(page).toContain(`| ${name} | ${cells.join(" | ")} |`);
  }
  const shares = [64, 256, 1024].map((maxNewTokens) => {
    const { decode, seconds } = manyGpuStep(SHAPES["4B"], { ...config, maxNewTokens }, 8, A100);
    return `${seconds.toFixed(0)} s, ${((100 * decode) / seconds).toFixed(0)} %`;
  });
  expect(page).toContain(`| ${shares.join(" | ")} |`);
});

test("a process takes the groups that are left over, and more GPUs than groups change nothing", () => {
  const seconds = (gpus: number): number => manyGpuStep(SHAPES["4B"], config, gpus, A100).seconds;
  expect(seconds(8)).toBeCloseTo(seconds(1) / 8, 9);
  expect(seconds(5)).toBeCloseTo(seconds(4), 9);
  expect(seconds(64)).toBe(seconds(16));
});
