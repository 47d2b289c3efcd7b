/** Stored state of a run: the newest checkpoint, or the start without one. */
import type { LabConfig } from "../../../config/table.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import type { RunFolder } from "../../../runs/run-folder.ts";
import type { RunStore } from "../../../storage/store.ts";
import type { TrainingState } from "../../optim/training-state.ts";
import { dropLaterSteps } from "./judge-spending.ts";
import { keptAdapter } from "./kept-adapters.ts";
import { resumeState, startState } from "./start-run.ts";
import { usableCheckpoint } from "./usable-checkpoint.ts";

/** The state on the current device and its step; drops data of later steps from the run folder. */
export async function storedState(
  store: RunStore,
  run: RunFolder,
  model: Sa2vaModel,
  config: LabConfig,
): Promise<{ readonly state: TrainingState; readonly step: number }> {
  const start = await keptAdapter(store, run.id, "start", model, run.manifest().startAdapter);
  const found = await usableCheckpoint(store, run.id);
  const state = found === null ? startState(model, config, start) : resumeState(model, config, found.checkpoint, start);
  const step = found?.step ?? 0;
  await dropLaterSteps(run, step);
  return { state, step };
}
