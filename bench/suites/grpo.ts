/** Dual-loop GRPO on the pocket model with the demo preset, step by step. */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import { Session } from "../../src/engine/session/session.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import type { Pocket } from "../pocket.ts";

export interface StepRun {
  readonly device: EngineDevice;
  readonly reopen: () => Promise<EngineDevice>;
  readonly pocket: Pocket;
  readonly steps: number;
  /** Replaces the demo's settings. */
  readonly changes?: Partial<LabConfig>;
  /** Called when the model is loaded and the run begins. */
  readonly onStart?: () => void;
  /** Called after every step; false ends the run. */
  readonly onStep: (step: number) => boolean;
}

/** Neither evaluations nor checkpoints, only steps. */
export async function runSteps({ device, reopen, pocket, steps, changes, onStart, onStep }: StepRun): Promise<void> {
  const session = new Session({
    device,
    reopen,
    store: memoryStore(),
    rows: pocket.rows,
    scorer: rewardScorer({ wordnet: pocket.wordnet }),
    now: () => performance.now() / 1000,
    emit(event) {
      if (event.type === "step" && !onStep(event.step)) session.trainer?.control.stop();
    },
  });
  try {
    await session.openModel(pocket.model, "pocket");
    const own = { steps, seed: 1, saveSteps: 0, evalSteps: 0, ...changes };
    const settings = requireConfig(own, presetConfig("demo"), "bench");
    onStart?.();
    const run = await session.start({ settings, list: pocket.list, title: "demo", created: new Date(0).toISOString() });
    await run.done;
  } finally {
    session.dispose();
  }
}
