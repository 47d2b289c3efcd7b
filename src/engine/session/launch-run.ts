/**
 * A prepared run in progress: its trainer and, after a lost device, another trainer that starts from the newest
 * checkpoint.
 */

import type { LabConfig } from "../config/table.ts";
import { LabError, toLabError } from "../errors.ts";
import type { EngineDevice, GpuReport } from "../gpu/runtime/device.ts";
import { setPlannedBytes, trimPool } from "../gpu/runtime/pool.ts";
import { tf } from "../gpu/tf.ts";
import type { PictureSize } from "../model/families/family.ts";
import { forecast } from "../plan/fit.ts";
import { freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import { type FeatureDiskCache, type FeatureFiles, openFeatureDiskCache } from "../policy/feature-store.ts";
import { disposeState, type TrainingState } from "../rl/optim/training-state.ts";
import { raiseAlarm } from "../rl/run/alarms.ts";
import type { LoadedModel, SessionDeps, StartedRun } from "../rl/run/session-types.ts";
import { captionerOf } from "../rl/run/start/captioner.ts";
import { drawnRows, type PreparedRun } from "../rl/run/start/prepare-run.ts";
import { checkedRows, loraSettings } from "../rl/run/start/run-facts.ts";
import { storedState } from "../rl/run/start/stored-state.ts";
import { Trainer } from "../rl/run/trainer.ts";
import type { Alarm } from "../runs/alarms.ts";
import { evaluatedRows } from "../runs/run-rows.ts";
import type { TuningTable } from "../tuning/table.ts";
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

// Recovers a run from a lost device (driver reset, GPU process killed): reports it, opens the device again, loads the
// weights and continues from the newest checkpoint. A second loss within a minute pauses the run.

type RunEnd = "finished" | "stopped";

/** Minimum seconds between two losses that are recovered. */
const SPAN_SECONDS = 60;

export interface Recovery {
  /** The message if the device is lost, else undefined. */
  readonly lost: () => Promise<string | undefined>;
  /** Rebuilds everything on another device; the result continues from the stored state. */
  readonly restore: (reason: string) => Promise<() => Promise<RunEnd>>;
  /** Pauses the run so that it can be resumed. */
  readonly pause: () => Promise<void>;
  /** Seconds, monotonic. */
  readonly now: () => number;
}

/**
 * @param first the run as started
 * @throws errors of the run other than a loss; LabError("gpu") when the device is lost twice within a minute or cannot be
 *   opened again, with the run paused
 */
export async function runWithDeviceRecovery(first: () => Promise<RunEnd>, recovery: Recovery): Promise<RunEnd> {
  let lostAt = Number.NEGATIVE_INFINITY;
  for (let run = first; ; ) {
    try {
      return await run();
    } catch (thrown) {
      const reason = await recovery.lost();
      if (reason === undefined) throw thrown;
      const at = recovery.now();
      if (at - lostAt < SPAN_SECONDS) {
        await recovery.pause();
        throw new LabError(
          "gpu",
          `${reason}; it is the second loss within a minute, so the run is paused and can be resumed from its last checkpoint`,
        );
      }
      lostAt = at;
      try {
        run = await recovery.restore(reason);
      } catch (failure) {
        await recovery.pause();
        const why = failure instanceof Error ? failure.message : String(failure);
        throw new LabError(
          "gpu",
          `${reason}, and recovery failed: ${why}; the run is paused and can be resumed from its last checkpoint`,
        );
      }
    }
  }
}

// The disk cache of a run's frozen features.

const GIGABYTE = 1e9;

/**
 * @param files store of the features; no cache if absent
 * @param table measured forms that the run computes with; features of other forms differ in the last bits
 * @returns undefined if the cache is off, or if the disk cannot be read, which is reported as a warning
 */
export async function runFeatures(
  files: FeatureFiles | undefined,
  { model, hash }: Pick<LoadedModel, "model" | "hash">,
  config: Pick<LabConfig, "featureDisk" | "featureStorage" | "maxTiles" | "resizeTwice">,
  device: Pick<GpuReport, "vendor" | "architecture" | "description">,
  table: TuningTable | undefined,
  step: number,
  tell: (alarm: Alarm) => void,
): Promise<FeatureDiskCache | undefined> {
  if (files === undefined || config.featureDisk === 0) return undefined;
  const warn = (thrown: unknown): void => {
    const message = `Features are not stored on disk: ${toLabError(thrown, "storage").message}`;
    tell({ id: "features-not-kept", step, severity: "warning", message });
  };
  const maxTiles = Math.min(config.maxTiles, model.tiling.maxTiles);
  const tiling = { ...model.tiling, maxTiles, resizeTwice: config.resizeTwice };
  const { vendor, architecture, description } = device;
  const origin = {
    model: hash,
    storage: model.storage,
    features: config.featureStorage,
    tiling,
    computedBy: {
      vendor,
      architecture,
      description,
      forms: table?.entries.map(({ bucket, form }) => [bucket, form]) ?? [],
    },
  };
  try {
    return await openFeatureDiskCache(files, origin, config.featureDisk * GIGABYTE, warn);
  } catch (thrown) {
    warn(thrown);
    return undefined;
  }
}
