/**
 * A prepared run in progress: its trainer and, after a lost device, another trainer that starts from the newest
 * checkpoint.
 */

import type { RowSource } from "../data/training-row.ts";
import { LabError } from "../errors.ts";
import { setPlannedBytes, trimPool } from "../gpu/runtime/pool.ts";
import type { PictureSize } from "../model/families/family.ts";
import { forecast } from "../plan/fit.ts";
import { freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import { disposeState } from "../rl/optim/training-state.ts";
import { raiseAlarm } from "../rl/run/alarms.ts";
import type { Lab, Run, StartedRun } from "../rl/run/lab.ts";
import { drawnRows, type PreparedRun } from "../rl/run/start/prepare-run.ts";
import { storedState } from "../rl/run/start/stored-state.ts";
import { Trainer } from "../rl/run/trainer.ts";
import type { KernelForms } from "./kernel-forms.ts";
import { reachedLimits, rowLengths } from "./plan.ts";

/** The session as its run uses it. */
export interface RunOwner {
  readonly forms: Pick<KernelForms, "activateFor">;
  /** The current trainer; none after the run. */
  trainer: Trainer | undefined;
  /** Frees model and device and opens both again. */
  reopen(lab: Lab): Promise<Lab>;
}

/**
 * @param free releases the run's claim on the session; the caller calls it if this function throws
 * @throws errors of creating the trainer; the run's lock and weights are then released
 */
export function launchRun(owner: RunOwner, opened: Lab, prepared: PreparedRun, free: () => void): StartedRun {
  const { folder, state, order, rows, doneSteps, release } = prepared;
  const ownForms = owner.forms.activateFor(prepared.table);
  let lab = opened;
  let mine: Trainer | undefined;
  const attempt = (run: Run): (() => Promise<RunEnd>) => {
    const before = owner.trainer;
    const planned = { ...lab, rows: plannedRows(lab, run) };
    trimPool();
    const trainer = new Trainer(planned, run);
    // A stop that arrived before the trainer existed.
    if (before?.control.signal.aborted === true) trainer.control.stop();
    mine = trainer;
    owner.trainer = trainer;
    return () => trainer.run().finally(() => trainer.dispose());
  };
  let first: ReturnType<typeof attempt>;
  try {
    first = attempt(prepared);
  } catch (thrown) {
    disposeState(state);
    ownForms();
    release();
    throw thrown;
  }
  const done = runWithDeviceRecovery(first, {
    // A failed run has not lost its device. The device is not asked, because other work may use it once the failure is
    // reported.
    lost: async () => (mine?.control.state === "failed" ? undefined : lab.device.whyLost()),
    pause: async () => {
      try {
        await folder.update({ state: "paused" });
      } finally {
        mine?.control.setState("finished");
      }
    },
    restore: async (reason) => {
      const failedAt = owner.trainer?.step ?? 0;
      lab.emit({ type: "state", state: "starting", step: failedAt });
      lab = await owner.reopen(lab);
      return attempt(await restored(lab, prepared, reason, failedAt));
    },
    now: lab.now,
  }).finally(() => {
    if (owner.trainer === mine) {
      owner.trainer = undefined;
      freeDecodeBuffers();
      setPlannedBytes();
      trimPool();
    }
    ownForms();
    release();
    free();
  });
  return {
    manifest: folder.manifest(),
    resumedAt: doneSteps,
    trainRows: drawnRows(order, folder.manifest().config),
    heldOutRows: rows.heldOut.length,
    done,
  };
}

/**
 * The lab's rows, whose buffers may take what the plan of the run allows. Settings may become smaller during the run; the
 * rows show whether they are clips, the sizes of their pictures and the lengths of their captions.
 */
function plannedRows({ model, device, rows }: Lab, { folder }: Run): RowSource {
  const pictures = new Map<string, PictureSize>();
  let lengths = rowLengths(model);
  const plan = (clips: boolean): void => {
    const { software } = device.report;
    const { config } = folder.manifest();
    const reached = reachedLimits(model.config, [...pictures.values()], config.maxTiles);
    setPlannedBytes(forecast(reached, config, model.storage, null, software, { clips, ...lengths }).peak);
  };
  plan(false);
  return async (index) => {
    const row = await rows(index);
    const { frames, height, width, caption } = row.summary;
    const size = { height: height / (frames ?? 1), width };
    pictures.set(Object.values(size).join("x"), size);
    const { captionTokens = 0, phraseTokens = 0, words } = rowLengths(model, [caption]);
    lengths = {
      words,
      captionTokens: Math.max(lengths.captionTokens ?? 0, captionTokens),
      phraseTokens: Math.max(lengths.phraseTokens ?? 0, phraseTokens),
    };
    plan(frames !== undefined);
    return row;
  };
}

/** The run from its newest checkpoint, or from its start, on another device. */
async function restored(lab: Lab, run: Run, reason: string, failedAt: number): Promise<Run> {
  const { folder } = run;
  // The settings in the manifest are current; they become smaller when memory runs out.
  const { config } = folder.manifest();
  const { state, step: doneSteps } = await storedState(lab, folder);
  const message = `${reason}; it was reopened and the run continues from step ${doneSteps}`;
  await raiseAlarm(folder, lab.emit, { id: "device-lost", step: failedAt + 1, severity: "warning", message });
  return { ...run, config, state, doneSteps };
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
