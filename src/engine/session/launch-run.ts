/**
 * A prepared run in progress: its trainer and, after a lost device, another trainer that starts from the newest
 * checkpoint.
 */
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { setPlannedBytes, trimPool } from "../gpu/runtime/pool.ts";
import { tf } from "../gpu/tf.ts";
import type { PictureSize } from "../model/families/family.ts";
import { forecast } from "../plan/fit.ts";
import { freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import { disposeState, type TrainingState } from "../rl/optim/training-state.ts";
import { raiseAlarm } from "../rl/run/alarms.ts";
import { type RunEnd, runWithDeviceRecovery } from "../rl/run/recovery.ts";
import type { LoadedModel, SessionDeps, StartedRun } from "../rl/run/session-types.ts";
import { captionerOf } from "../rl/run/start/captioner.ts";
import { drawnRows, type PreparedRun } from "../rl/run/start/prepare-run.ts";
import { checkedRows, loraSettings } from "../rl/run/start/run-facts.ts";
import { runFeatures } from "../rl/run/start/run-features.ts";
import { storedState } from "../rl/run/start/stored-state.ts";
import { Trainer } from "../rl/run/trainer.ts";
import { evaluatedRows } from "../runs/run-rows.ts";
import type { KernelForms } from "./kernel-forms.ts";
import type { Outside } from "./outside.ts";
import { reachedLimits } from "./plan.ts";

/** Parts of the session that a run uses; device and model change when a lost device is reopened. */
export interface RunHost {
  readonly deps: SessionDeps;
  readonly forms: KernelForms;
  readonly device: () => EngineDevice;
  readonly model: () => LoadedModel;
  readonly trainer: () => Trainer | undefined;
  /** Sets the session's current trainer and weights; none after the run. */
  readonly setTrainer: (trainer: Trainer | undefined, live: Outside["live"]) => void;
  /** Frees model and device and reopens both. */
  readonly reopen: () => Promise<LoadedModel>;
}

/**
 * @param free releases the run's claim on the session; the caller calls it if this function throws
 * @throws errors of creating the trainer; the run's lock and weights are then released
 */
export function launchRun(host: RunHost, prepared: PreparedRun, free: () => void): StartedRun {
  const { run, state, captioner, list, selected, order, doneSteps, release } = prepared;
  const { rows, features, scorer, now, emit } = host.deps;
  const ownForms = host.forms.activateFor(prepared.table);
  let mine: Trainer | undefined;
  const attempt = (own: TrainingState, done: number): (() => Promise<RunEnd>) => {
    const loaded = host.model();
    const { model } = loaded;
    // The settings in the manifest are current; they become smaller when memory runs out.
    const { config } = run.manifest();
    const before = host.trainer();
    const source = checkedRows(rows, list);
    // Plans with the held memory. Settings may become smaller during the run; the rows show whether they are clips, and
    // the sizes of their pictures.
    const pictures = new Map<string, PictureSize>();
    const plan = (clips: boolean): void => {
      const { software } = host.device().report;
      const reached = reachedLimits(model.config, [...pictures.values()]);
      setPlannedBytes(forecast(reached, run.manifest().config, model.storage, null, software, clips).peak);
    };
    plan(false);
    trimPool();
    const other = captioner === undefined ? undefined : captionerOf(model, captioner, config);
    const trainer = new Trainer({
      model,
      config,
      state: own,
      captioner: other?.weights,
      rows: async (index) => {
        const row = await source(index);
        const { frames, height, width } = row.summary;
        const size = { height: height / (frames ?? 1), width };
        pictures.set(Object.values(size).join("x"), size);
        plan(frames !== undefined);
        return row;
      },
      trainRows: selected.train,
      order,
      evaluated: evaluatedRows(selected, config, list),
      scorer,
      run,
      doneSteps: done,
      openDiskCache: (tell) => runFeatures(features, loaded, config, host.device().report, prepared.table, done, tell),
      lora: loraSettings(model, config),
      now,
      emit,
      checkDevice: () => host.device().checkAll(),
      whyFull: () => host.device().whyFull(),
      whyLost: () => host.device().whyLost(),
    });
    // A stop that arrived before the trainer existed.
    if (before?.control.signal.aborted === true) trainer.control.stop();
    mine = trainer;
    host.setTrainer(trainer, { runId: run.id, state: own, captioner: other?.tensors });
    return () =>
      trainer.run().finally(() => {
        disposeState(own);
        if (other !== undefined) tf.dispose(other.tensors);
      });
  };
  let first: ReturnType<typeof attempt>;
  try {
    first = attempt(state, doneSteps);
  } catch (thrown) {
    disposeState(state);
    ownForms();
    release();
    throw thrown;
  }
  const done = runWithDeviceRecovery(first, {
    // A failed run has not lost its device. The device is not asked, because other work may use it once the failure is
    // reported.
    lost: async () => (mine?.control.state === "failed" ? undefined : host.device().whyLost()),
    pause: async () => {
      try {
        await run.update({ state: "paused" });
      } finally {
        mine?.control.setState("finished");
      }
    },
    restore: async (reason) => {
      const from = await restored(host, prepared, reason);
      return attempt(from.state, from.step);
    },
    now,
  }).finally(() => {
    if (host.trainer() === mine) {
      host.setTrainer(undefined, undefined);
      freeDecodeBuffers();
      setPlannedBytes();
      trimPool();
    }
    ownForms();
    release();
    free();
  });
  return {
    manifest: run.manifest(),
    resumedAt: doneSteps,
    trainRows: drawnRows(order, run.manifest().config),
    heldOutRows: selected.heldOut.length,
    done,
  };
}

/** The state of the newest checkpoint, or of the start, on another device. */
async function restored(
  host: RunHost,
  { run }: PreparedRun,
  reason: string,
): Promise<{ readonly state: TrainingState; readonly step: number }> {
  const { store, emit } = host.deps;
  const failedAt = host.trainer()?.step ?? 0;
  emit({ type: "state", state: "starting", step: failedAt });
  const { model } = await host.reopen();
  const { state, step } = await storedState(store, run, model, run.manifest().config);
  const message = `${reason}; it was reopened and the run continues from step ${step}`;
  await raiseAlarm(run, emit, { id: "device-lost", step: failedAt + 1, severity: "warning", message });
  return { state, step };
}
