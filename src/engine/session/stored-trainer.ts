/** A trainer with the weights of a stored run, for work that does not continue the run: replays and evaluations. */
import { withFormTable } from "../gpu/forms/active.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { tf } from "../gpu/tf.ts";
import { disposeState, type TrainingState } from "../rl/optim/training-state.ts";
import type { TrainerEvent } from "../rl/run/events.ts";
import type { LoadedModel, SessionDeps } from "../rl/run/session-types.ts";
import { captionerOf } from "../rl/run/start/captioner.ts";
import { keptAdapter } from "../rl/run/start/kept-adapters.ts";
import { runOrder } from "../rl/run/start/prepare-run.ts";
import { checkedRows, rowsOfSameRun } from "../rl/run/start/run-facts.ts";
import { loraSettings, resumeState, startState } from "../rl/run/start/start-run.ts";
import { usableCheckpoint } from "../rl/run/start/usable-checkpoint.ts";
import { Trainer } from "../rl/run/trainer.ts";
import { keptDifficulty } from "../runs/difficulty.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { evaluatedRows, type RowList } from "../runs/run-rows.ts";
import { formsOf, keptTable } from "../tuning/table.ts";
import { withinPlan } from "./plan.ts";

export interface StoredWork {
  /** The stored run, which is only read. */
  readonly run: RunFolder;
  readonly list: RowList;
  /** Latest step whose checkpoint may be used; without one up to this step, the start is used. */
  readonly upTo: number;
  /** Whether held-out rows are scored. */
  readonly evaluates: boolean;
  /** The folder that the trainer writes to. */
  readonly target: RunFolder;
  /** @param stop ends the trainer */
  readonly emit: (event: TrainerEvent, stop: () => void) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds the trainer, runs the work and frees the weights.
 * @param work receives the step of the checkpoint (0 for the start) and the weights that the trainer changes
 * @throws LabError("bad-input") for other rows or weights than the run's
 */
export async function withStoredTrainer<T>(
  deps: SessionDeps,
  { model, hash }: Pick<LoadedModel, "model" | "hash">,
  device: EngineDevice,
  { run, list, upTo, evaluates, target, emit, signal }: StoredWork,
  work: (trainer: Trainer, from: number, state: TrainingState) => Promise<T>,
): Promise<T> {
  const { store, id } = run;
  const manifest = run.manifest();
  const { config, startAdapter } = manifest;
  const selected = await rowsOfSameRun(manifest, hash, list);
  await deps.scorer.begin(config);
  const start = await keptAdapter(store, id, "start", model, startAdapter);
  const kept = await keptAdapter(store, id, "captioner", model, manifest.captioner);
  const table = await keptTable(store, id);
  const found = await usableCheckpoint(store, id, upTo);
  const order = runOrder(list, selected, config, await keptDifficulty(store, id));
  const state = found === null ? startState(model, config, start) : resumeState(model, config, found.checkpoint, start);
  const other = kept === undefined ? undefined : captionerOf(model, kept, config);
  const from = found?.step ?? 0;
  const trainer = new Trainer({
    model,
    config,
    state,
    captioner: other?.weights,
    rows: checkedRows(deps.rows, list),
    trainRows: selected.train,
    order,
    evaluated: evaluates ? evaluatedRows(selected, config, list) : { report: [], selection: [] },
    scorer: deps.scorer,
    run: target,
    doneSteps: from,
    lora: loraSettings(model, config),
    now: deps.now,
    emit: (event) => emit(event, () => trainer.control.stop()),
    checkDevice: () => device.checkAll(),
    whyFull: () => device.whyFull(),
    whyLost: () => device.whyLost(),
  });
  const stop = (): void => trainer.control.stop();
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    return await withFormTable(table === undefined ? new Map() : formsOf(table), () =>
      withinPlan(model, config, device, () => work(trainer, from, state)),
    );
  } finally {
    signal.removeEventListener("abort", stop);
    trainer.features.clear();
    disposeState(state);
    if (other !== undefined) tf.dispose(other.tensors);
  }
}
