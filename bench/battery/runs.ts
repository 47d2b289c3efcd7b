/** Whole runs of the battery: steps at the shapes of Sa2VA-1B, and the demo with its held-out gain. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { POCKET_SHARDS, presetModel } from "../../scripts/lib/node/node-rows.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { evalLine, stepLine } from "../../scripts/lib/step-line.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { parseSa2vaConfig } from "../../src/engine/model/config.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import type { CardSizes } from "../../src/plugins/card/card-line.ts";
import { ALL_LAYERS, type MadeShapes, madeConfig, madePicture, writeInputs } from "../made-up/inputs.ts";
import { CHECK_SETTINGS, readStep, takeSteps } from "../made-up/step.ts";

export const RUN_STAGES = ["step-1b", "demo"] as const;
export type RunStage = (typeof RUN_STAGES)[number];

/** Seed of the demo; its recorded run has another one. */
const SEED = 7;

/** @param add receives each line: the costs of a step beside the forecast, or what `npm run train -- --json` prints */
export async function runStage(
  stage: RunStage,
  sizes: CardSizes,
  add: (line: Record<string, unknown>) => void,
): Promise<void> {
  if (stage === "step-1b") await madeUpSteps(sizes, add);
  else await demo(sizes, add);
}

/** The step that `npm run step-1b` compares with PyTorch, and three of a preset, whose last is free of compilation. */
async function madeUpSteps(sizes: CardSizes, add: (line: Record<string, unknown>) => void): Promise<void> {
  const shapes: MadeShapes = sizes === "small" ? "small" : { layers: ALL_LAYERS };
  const directory = mkdtempSync(join(tmpdir(), "lab-step-1b-"));
  try {
    const inputs = { model: join(directory, "model"), shards: join(directory, "shards") };
    writeInputs(inputs, shapes);
    const store = nodeStore(join(directory, "runs"));
    const cases = {
      "groups of 2, captions of 4 tokens": CHECK_SETTINGS,
      "the preset Real checkpoint": { gpuMemory: 12, steps: 3, saveSteps: 0, evalSteps: 0, heldOutShare: 0 },
    };
    // One case runs every program of a step.
    for (const [name, changes] of Object.entries(cases).slice(0, sizes === "small" ? 1 : undefined)) {
      const settings = requireConfig(changes, presetConfig("real"), "battery");
      const taken = await takeSteps(inputs, settings, store, () => undefined);
      add({
        case: name,
        ...(await readStep(store, taken, parseSa2vaConfig(madeConfig(shapes)), [madePicture(shapes)])),
      });
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function demo(sizes: CardSizes, add: (line: Record<string, unknown>) => void): Promise<void> {
  const changes = { seed: SEED, ...(sizes === "small" ? { steps: 1, evalSteps: 0 } : {}) };
  const onEvent = (event: TrainerEvent): void => {
    if (event.type === "step") add(JSON.parse(stepLine(event, true)) as Record<string, unknown>);
    if (event.type === "eval") add(JSON.parse(evalLine(event, true)) as Record<string, unknown>);
  };
  const settings = requireConfig(changes, presetConfig("demo"), "battery");
  await takeSteps({ model: presetModel("demo"), shards: POCKET_SHARDS }, settings, memoryStore(), onEvent);
}
