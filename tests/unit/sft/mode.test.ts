/** What the rest of the lab does in the supervised mode: settings, blockers, plan, order of rows, schedule and warnings. */
import { expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { overviewOf } from "../../../src/app/screens/train/overview.ts";
import { smallerSetting } from "../../../src/engine/config/derived.ts";
import { defaultConfig, requireConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { usesSetting } from "../../../src/engine/config/uses.ts";
import { learningRate, scheduleOf } from "../../../src/engine/rl/optim/training-state.ts";
import { settingBlockers } from "../../../src/engine/rl/run/start/blockers.ts";
import { drawnRows } from "../../../src/engine/rl/run/start/prepare-run.ts";
import { type OrderRows, rowOrder } from "../../../src/engine/rl/step/data-order.ts";
import { rowWarnings } from "../../../src/engine/session/row-warnings.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

const MODEL = {
  tiling: { minTiles: 1, maxTiles: 12, tileSize: 448, useThumbnail: true },
  config: { sam2: { imageSize: 1024 } },
};
const demo = presetConfig("demo");
const told = (changes: Partial<LabConfig>) =>
  settingBlockers(MODEL, requireConfig({ mode: "sft", ...changes }, defaultConfig()));

it("reads its weights, and no setting of rollouts", () => {
  expect(usesSetting("sftDiceWeight", { ...demo, mode: "sft" })).toBe(true);
  expect(usesSetting("sftDiceWeight", demo)).toBe(false);
  expect(usesSetting("numGenerations", demo)).toBe(true);
  expect(usesSetting("numGenerations", { ...demo, mode: "sft" })).toBe(false);
});

it("is blocked by conditions on rows, not by settings of the loss, the mask policy or a loop", () => {
  expect(told({ rowFilter: "area:small red" })).toHaveLength(1);
  expect(told({ delta: 0.5, maskPolicy: "field", fieldGrid: 7 })).toEqual([]);
  expect(told({ loops: "2", loop2Weight: 0 })).toEqual([]);
});

it("cannot become smaller where activations are recomputed and groups do not matter", () => {
  expect(smallerSetting({ ...demo, mode: "sft", gradientCheckpointing: true, groupsAtOnce: 0 })).toBeNull();
});

it("without evaluations writes no captions, so their length needs no warning", async () => {
  const bytes = await openTokenizer(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
  const captions = ["A herring gull stands on one leg beside a wooden railing, its head turned towards the harbour"];
  expect(rowWarnings(bytes, captions, demo)).toHaveLength(1);
  expect(rowWarnings(bytes, captions, { ...demo, mode: "sft", evalSteps: 0 })).toEqual([]);
});

it("draws rows by the batch of each step, from the sources of the mix", () => {
  const known: OrderRows = {
    train: Array.from({ length: 24 }, (_, at) => at),
    id: (index) => (index < 8 ? `b.tar#${index}` : `one/a.arrow#${index}`),
  };
  const config = { ...defaultConfig(), mode: "sft", seed: 3, accumulation: 1 } as const;
  const earlier = [
    { upTo: 3, config: { ...config, promptsPerStep: 2 } },
    { upTo: 5, config: { ...config, promptsPerStep: 5 } },
  ];
  const order = rowOrder(known, { ...config, promptsPerStep: 3 }, earlier);
  expect([1, 2, 3, 4, 5, 6, 7, 8].map(order.before)).toEqual([0, 2, 4, 6, 11, 16, 19, 22]);
  const mixed = { ...config, mixSources: "b=0, *=2" };
  expect(drawnRows(rowOrder(known, mixed), mixed)).toBe(16);
});

it("has one update a step, whatever the passes of a batch are", () => {
  const config = { ...defaultConfig(), steps: 10, lrSchedulerType: "cosine", warmupSteps: 0 } as const;
  const passes = { numIterations: 2, stepsPerGeneration: 3 } as const;
  expect(learningRate(1, 10, scheduleOf({ ...config, ...passes, mode: "sft" }))).toBeCloseTo(0, 12);
});

it("shows in the page where gradients are clipped", () => {
  expect(overviewOf("sft", 2).find(({ id }) => id === "gradient")?.levels).toHaveLength(1);
});
