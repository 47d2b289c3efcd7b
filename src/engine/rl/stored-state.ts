/** Where a run stands by what is stored of it: the newest checkpoint, or the start where there is none. */
import type { LabConfig } from "../config/table.ts";
import { LabError } from "../errors.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { listCheckpoints, readCheckpoint } from "../runs/checkpoint.ts";
import type { RunManifest } from "../runs/manifest.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import type { RunStore } from "../runs/store.ts";
import { keptStart } from "./kept-start.ts";
import { resumeState, startState } from "./start-run.ts";
import type { TrainingState } from "./training-state.ts";

/** The state on the current device and its step; drops what the run folder holds of later steps. */
export async function storedState(
  store: RunStore,
  run: RunFolder,
  model: Sa2vaModel,
  config: LabConfig,
): Promise<{ readonly state: TrainingState; readonly step: number }> {
  const kept = run.manifest().startAdapter;
  const start = kept === undefined ? undefined : await keptStart(store, run.id, model, kept);
  const step = (await listCheckpoints(store, run.id)).at(-1) ?? 0;
  const state =
    step === 0
      ? startState(model, config, start)
      : resumeState(model, config, await readCheckpoint(store, run.id, step), start);
  await run.truncateAfter(step);
  return { state, step };
}

/** Step of the newest checkpoint. @throws LabError("bad-input") when the run has none */
export async function newestCheckpoint(store: RunStore, { id, title }: RunManifest): Promise<number> {
  const step = (await listCheckpoints(store, id)).at(-1);
  if (step !== undefined) return step;
  throw new LabError("bad-input", `Run "${title}" has no complete checkpoint to resume from`, { subject: id });
}
