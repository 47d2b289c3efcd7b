/** Runs of a model and shards on disk, and what a step of them costs. */
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../scripts/lib/node/node-session.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { LabError } from "../../src/engine/errors.ts";
import { storageChoice } from "../../src/engine/loading/storage-settings.ts";
import type { Sa2vaConfig } from "../../src/engine/model/config.ts";
import type { PictureSize } from "../../src/engine/model/families/family.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { forecast, type RowShape } from "../../src/engine/plan/fit.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { readPhases } from "../../src/engine/runs/phase-lines.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { reachedLimits, rowLengths } from "../../src/engine/session/plan.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";

/** The settings that tests/oracle/check_step.py computes. Confidence differs between any two masks, so groups have a spread. */
export const CHECK_SETTINGS = {
  numGenerations: 2,
  promptsPerStep: 1,
  accumulation: 1,
  maxCompletionLength: 4,
  partnerMaxTokens: 4,
  maxTiles: 1,
  steps: 1,
  saveSteps: 1,
  evalSteps: 0,
  warmupSteps: 0,
  heldOutShare: 0,
  gpuMemory: 12,
  featureStorage: "f32",
  featureDisk: 0,
  towerStorage: "f16",
  maskPolicy: "candidates",
  maskAnchor: "truth",
  loop1Confidence: 1,
  loop2Confidence: 1,
  loop1Weight: 1,
  loop2Weight: 1,
} as const satisfies Partial<LabConfig>;

/**
 * Trains a new run.
 * @returns the run's id, and the lengths of its rows in the model's tokens, for `readStep`
 * @throws LabError with the cause when the run is held
 */
export async function takeSteps(
  { model, shards }: { readonly model: string; readonly shards: string },
  settings: LabConfig,
  store: RunStore,
  onEvent: (event: TrainerEvent) => void,
): Promise<{ readonly id: string; readonly lengths: RowShape }> {
  const { rows, list } = await openNodeRows([shards]);
  const device = await openNodeDevice();
  const captions = new Set<string>();
  let held: LabError | undefined;
  const session = await nodeSession(device, {
    store,
    rows: async (index) => {
      const row = await rows(index);
      captions.add(row.summary.caption);
      return row;
    },
    emit(event) {
      onEvent(event);
      if (event.type !== "held") return;
      held = new LabError(event.error.code, event.error.message);
      session.trainer?.control.stop();
    },
  });
  try {
    await session.openModel(await nodeFolder(model), "model", { choice: storageChoice(settings) });
    const run = await session.start({ settings, list, title: "steps", created: new Date().toISOString() });
    await run.done;
    if (held !== undefined) throw held;
    return { id: run.manifest.id, lengths: rowLengths(session.model as Sa2vaModel, [...captions]) };
  } finally {
    session.dispose();
    device.close();
  }
}

/**
 * The costs of a run's last step, beside the plan's forecast.
 * @param pictures sizes of the rows' pictures
 * @throws LabError("held") when no step was taken
 */
export async function readStep(
  store: RunStore,
  { id, lengths }: Awaited<ReturnType<typeof takeSteps>>,
  model: Sa2vaConfig,
  pictures: readonly PictureSize[],
) {
  const run = await openRun(store, id);
  const { adapter, config } = run.manifest();
  const metrics = (await run.readMetrics()).at(-1);
  const step = (await readPhases(store, id)).at(-1);
  if (metrics === undefined || step === undefined) throw new LabError("held", "The step was not taken");
  const costs = step.phases;
  const peak = Math.max(...Object.values(costs).map(({ peakBytes }) => peakBytes ?? 0));
  const reached = reachedLimits(model, pictures, config.maxTiles);
  const said = forecast(reached, config, storageChoice(config), null, adapter.software, lengths);
  return {
    parameters: Object.values(said.weights.parameters).reduce((sum, count) => sum + count, 0),
    adapter: adapter.description || adapter.vendor,
    run: id,
    loss: { loop1: metrics["loop1/loss"], loop2: metrics["loop2/loss"] },
    gradNorm: metrics.grad_norm ?? Number.NaN,
    seconds: metrics.step_time,
    peak: { allocated: peak, forecast: said.peak, ratio: said.peak / peak },
    parts: said.parts,
    costs,
  };
}
