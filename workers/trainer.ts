/** Runs the trainer on this worker's own GPU device; wires messages to the session and nothing else. */

import type { LabConfig } from "../src/engine/config/table.ts";
import { badInput, LabError } from "../src/engine/errors.ts";
import { type EngineDevice, openAgain, openDevice } from "../src/engine/gpu/runtime/device.ts";
import { ModelCache } from "../src/engine/loading/model-cache.ts";
import type { OpenModelOptions } from "../src/engine/loading/open-model.ts";
import type { StorageChoice } from "../src/engine/model/weights/storage-choice.ts";
import { checkpointRoomWarning, checkpointsAtOnce } from "../src/engine/plan/checkpoint-room.ts";
import { fittedSettings, type Plan, type PlannedRows, reachedLimits } from "../src/engine/session/plan.ts";
import { type AdapterRole, type RunControl, Session, type StartedRun } from "../src/engine/session/session.ts";
import { heldRuns, oneAtATime } from "../src/engine/storage/lock.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import { freeRoom } from "../src/engine/storage/store.ts";
import { TRAINER_CALLS } from "../src/plugins/trainer-calls.ts";
import type { FolderRef } from "../src/protocol/common.ts";
import type { RowCalls } from "../src/protocol/data.ts";
import type { TrainerPlace } from "../src/protocol/plugin-calls.ts";
import type { ScoreCalls } from "../src/protocol/reward.ts";
import { type CallsOf, connect, ownPort, toWire } from "../src/protocol/rpc.ts";
import type {
  AdapterInfo,
  LoadProgress,
  RowSelection,
  Started,
  TrainerHost,
  TrainerMessage,
} from "../src/protocol/trainer.ts";
import { folderName, openFolder, openModelRef } from "./folders.ts";
import { mergeInto } from "./merge.ts";
import { loadModel } from "./models.ts";
import { storeElsewhere } from "./run-elsewhere.ts";

const tell = (event: TrainerMessage): void => page.tell.event(event);
const fail = (thrown: unknown): void => tell({ type: "failed", error: toWire(thrown) });

type OnLoad = (progress: LoadProgress) => void;

let session: Promise<TrainerPlace> | undefined;

async function open(data: MessagePort, reward: MessagePort): Promise<TrainerPlace> {
  const device = await openDevice(navigator.gpu).catch((thrown: unknown) => {
    tell({ type: "gpu", report: null, error: toWire(thrown) });
    throw thrown;
  });
  tell({ type: "gpu", report: device.report, error: null });
  watchLoss(device);
  const rows = connect<RowCalls>(data, {}).call;
  const models = new ModelCache(await openOpfsStore("models"));
  const store = await openOpfsStore();
  const lab = new Session({
    device,
    reopen: async () => {
      const again = await openAgain(() => openDevice(navigator.gpu));
      tell({ type: "gpu", report: again.report, error: null });
      watchLoss(again);
      return again;
    },
    store,
    models,
    featureFiles: await openOpfsStore("features"),
    tables: await openOpfsStore("tables"),
    rows: rows.row,
    scorer: connect<ScoreCalls>(reward, {}).call,
    now: seconds,
    emit: tell,
  });
  return {
    lab,
    models,
    store,
    rows,
    openModel: (ref, signal) => openModelRef(ref, signal && { signal }),
    elsewhere: (runId) => storeElsewhere(rows, runId),
    watch,
  };
}

const seconds = (): number => performance.now() / 1000;

/** A run handles the loss of its device itself. */
function watchLoss(device: EngineDevice): void {
  device.lost
    .then(async (sentence) => {
      const lab = (await session)?.lab;
      if (lab?.trainer === undefined && lab?.device === device) {
        fail(new LabError("gpu", `${sentence}; reload the page to continue`));
      }
    })
    .catch(fail);
}

async function started(): Promise<TrainerPlace> {
  if (session === undefined) {
    throw new LabError("internal", "The trainer received a request before its connections were set up");
  }
  return session;
}

const onClosed = (): void => tell({ type: "model-closed" });

/** The plan, with a warning if the checkpoints would not fit into this browser's storage. */
async function plan(config: LabConfig, rows: PlannedRows): Promise<Plan> {
  const { lab, store } = await started();
  const plan = await lab.plan(config, rows);
  // No probing: it could take the space of a checkpoint that is being written.
  if ((await heldRuns()).size > 0) return plan;
  const wanted = checkpointsAtOnce(config) * plan.checkpointBytes;
  const free = await oneAtATime("room", () => freeRoom(store, wanted));
  const warning = checkpointRoomWarning(config, plan.checkpointBytes, free);
  return warning === null ? plan : { ...plan, warnings: [...plan.warnings, warning] };
}

/** Reports the error that ends a started run. */
function watch({ done, ...began }: StartedRun): Started {
  done.catch(fail);
  return began;
}

const calls = {
  /**
   * Sent once, first: ports to the data and reward workers. Every other call waits until this one has opened the
   * device.
   */
  start(data: MessagePort, reward: MessagePort): void {
    session = open(data, reward);
    session.catch(() => undefined); // reported as "gpu"; every later call fails with the same sentence
  },
  /**
   * Loads a model and replaces the current one.
   * @param fit memory of the GPU in gigabytes, 0 if unknown, and the open rows: a large checkpoint is read in a storage
   * with which a run on them fits there; null reads any in `choice`
   * @throws LabError("cancelled") when the signal aborts
   */
  async openModel(
    ref: FolderRef,
    choice: StorageChoice,
    fit: (Omit<PlannedRows, "captions"> & { readonly gigabytes: number }) | null,
    onProgress: OnLoad,
    signal: AbortSignal,
  ) {
    const { lab } = await started();
    const { software } = lab.device.report;
    const fitting: OpenModelOptions["choice"] = (model, bytes) => {
      if (fit === null) return choice;
      const reached = reachedLimits(model, fit.pictures);
      return fittedSettings(reached, bytes, choice, fit.gigabytes, software, fit)?.choice ?? choice;
    };
    return loadModel(lab, { onProgress, onClosed, signal }, async (options, fetching) => {
      const { folder, keep, close } = await openModelRef(ref, fetching);
      return lab.openModel(folder, folderName(ref), { ...options, choice: fitting, keep }).finally(close);
    });
  },
  async openStored(id: string, onProgress: OnLoad, signal: AbortSignal) {
    const { lab } = await started();
    return loadModel(lab, { onProgress, onClosed, signal }, (options) => lab.openStored(id, options));
  },
  /** Stored conversions of checkpoints. */
  storedModels: async () => (await started()).models.list(),
  /** @returns the remaining conversions */
  async removeStored(id: string) {
    const { models } = await started();
    const release = await models.hold(id);
    if (release === null) throw badInput("Another tab is storing this conversion. Stop loading it there first");
    try {
      await models.remove(id);
    } finally {
      release();
    }
    return models.list();
  },
  /** Sizes of the trainable set for a configuration, without starting. @param rows the open rows */
  plan,
  /** Memory held on the device now, and its measured rate; answered even during a step. */
  system: async () => (await started()).lab.system(),
  /** @param now ISO time that the run folder records */
  async startRun(config: LabConfig, rows: RowSelection, title: string, now: string) {
    const { lab } = await started();
    return watch(await lab.start({ settings: config, list: rows, title, created: now }));
  },
  /**
   * @param steps new total length of the run; unchanged by default
   * @param from step of an earlier checkpoint, whose later steps are dropped
   */
  async resumeRun(runId: string, rows: RowSelection, steps?: number, from?: number) {
    const { lab } = await started();
    return watch(await lab.resume(runId, rows, steps, from));
  },
  /** Opens a PEFT adapter folder as the start of new runs and try-outs, or to compute likelihoods; null closes it. */
  async openAdapter(folder: FolderRef | null, role: AdapterRole): Promise<AdapterInfo | null> {
    const { lab } = await started();
    if (folder === null) {
      lab.closeAdapter(role);
      return null;
    }
    const adapter = await lab.openAdapter(await openFolder(folder), folderName(folder), role);
    const { name, hash, rank, scale, modules, tensors } = adapter;
    return { name, hash, rank, scale, factors: tensors.size - modules, modules };
  },
  /**
   * Writes a run's policy, merged into the base model, into a subfolder of the folder that the user chose.
   * @throws LabError("cancelled") when the signal aborts before the last tensor is written; nothing is kept then
   */
  async merge(
    runId: string,
    base: FolderRef,
    target: FileSystemDirectoryHandle,
    onProgress: (done: number, total: number) => void,
    signal: AbortSignal,
  ) {
    const { lab, store } = await started();
    const options = { onProgress, signal };
    return lab.whileIdle("merge", async () => mergeInto(target, await openFolder(base), store, runId, options));
  },
  /**
   * "step" and "phase" run one step or phase, then pause; "checkpoint" and "evaluate" wait for the end of a step unless
   * the run is paused.
   */
  async control(action: RunControl | "checkpoint" | "evaluate") {
    const { lab } = await started();
    if (action === "checkpoint") lab.trainer?.askCheckpoint();
    else if (action === "evaluate") lab.trainer?.askEvaluation();
    else await lab.control(action);
  },
};

export type TrainerCalls = CallsOf<typeof calls>;

const page = connect<TrainerHost>(
  ownPort(),
  Object.assign({}, calls, ...TRAINER_CALLS.map((served) => served(started))),
);
