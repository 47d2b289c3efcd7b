/** Runs the trainer on this worker's own GPU device; wires messages to the session and nothing else. */

import type { LabConfig } from "../src/engine/config/table.ts";
import { LabError } from "../src/engine/errors.ts";
import { type EngineDevice, openAgain, openDevice } from "../src/engine/gpu/runtime/device.ts";
import { ModelCache } from "../src/engine/loading/model-cache.ts";
import { checkpointRoomWarning, checkpointsAtOnce } from "../src/engine/plan/checkpoint-room.ts";
import { countChecks, passed, selfTest } from "../src/engine/self-test/self-test.ts";
import type { Plan } from "../src/engine/session/plan.ts";
import { type RunControl, Session, type StartedRun } from "../src/engine/session/session.ts";
import { freeRoom } from "../src/engine/storage/free-room.ts";
import { heldRuns } from "../src/engine/storage/lock.ts";
import { oneAtATime } from "../src/engine/storage/one-at-a-time.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import type { RequestId } from "../src/protocol/common.ts";
import type { FromTrainer, ToTrainer } from "../src/protocol/trainer.ts";
import { folderName, openFolder, openModelRef } from "./folders.ts";
import { rowsOver, scorerOver } from "./lines.ts";
import { mergeInto } from "./merge.ts";
import { loadModel, stopLoading } from "./models.ts";
import { tryOuts } from "./try-outs.ts";
import { wireError } from "./wire.ts";

type Connect = Extract<ToTrainer, { type: "connect" }>;
type Request = Extract<ToTrainer, { readonly request: RequestId }>;

const send = (message: FromTrainer): void => self.postMessage(message);
const fail = (request: RequestId | null, thrown: unknown): void =>
  send({ type: "failed", request, error: wireError(thrown) });

interface Connected {
  readonly lab: Session;
  readonly models: ModelCache;
  /** Of runs. */
  readonly store: RunStore;
}

let session: Promise<Connected> | undefined;

async function connect(lines: Connect): Promise<Connected> {
  const device = await openDevice(navigator.gpu).catch((thrown: unknown) => {
    send({ type: "gpu", report: null, error: wireError(thrown) });
    throw thrown;
  });
  send({ type: "gpu", report: device.report, error: null });
  watchLoss(device);
  const rows = rowsOver(lines.data);
  tries.drawFrom(rows);
  const models = new ModelCache(await openOpfsStore("models"));
  const store = await openOpfsStore();
  const lab = new Session({
    device,
    reopen: async () => {
      const again = await openAgain(() => openDevice(navigator.gpu));
      send({ type: "gpu", report: again.report, error: null });
      watchLoss(again);
      return again;
    },
    store,
    models,
    features: await openOpfsStore("features"),
    rows,
    scorer: scorerOver(lines.reward),
    now: () => performance.now() / 1000,
    emit: send,
  });
  return { lab, models, store };
}

/** A run deals with the loss of its device itself. */
function watchLoss(device: EngineDevice): void {
  device.lost
    .then(async (sentence) => {
      const lab = (await session)?.lab;
      if (lab?.trainer === undefined && lab?.device === device) {
        fail(null, new LabError("gpu", `${sentence}; reload the page to go on`));
      }
    })
    .catch((thrown: unknown) => fail(null, thrown));
}

async function answer(message: Request): Promise<void> {
  if (session === undefined)
    throw new LabError("internal", "The trainer received a request before its connections were set up");
  const { lab, models } = await session;
  const { request } = message;
  switch (message.type) {
    case "open-model": {
      const { folder, choice } = message;
      const info = await loadModel(lab, send, async (options, fetching) => {
        const { folder: files, keep, close } = await openModelRef(folder, fetching);
        return lab.openModel(files, folderName(folder), { ...options, choice, keep }).finally(close);
      });
      return send({ type: "model", request, info });
    }
    case "open-stored": {
      const info = await loadModel(lab, send, (options) => lab.openStored(message.id, options));
      return send({ type: "model", request, info });
    }
    case "stored-models":
      return send({ type: "stored-models", request, models: await models.list() });
    case "remove-stored":
      await models.remove(message.id);
      return send({ type: "stored-models", request, models: await models.list() });
    case "plan":
      return send({ type: "plan", request, plan: await planHere(await session, message.config) });
    case "system":
      return send({ type: "system", request, report: await lab.system() });
    case "self-test": {
      const total = countChecks();
      await lab.selfTest(async (device) => {
        const failed: string[] = [];
        for await (const check of selfTest(device, () => performance.now() / 1000)) {
          if (!passed(check)) failed.push(check.name);
          send({ type: "self-check", check, total });
        }
        return { checks: total, failed };
      });
      return send({ type: "self-tested", request });
    }
    case "bench":
      return bench(lab, message);
    case "open-adapter": {
      const adapter = await lab.openAdapter(await openFolder(message.folder), folderName(message.folder));
      const { name, rank, scale, modules, tensors } = adapter;
      return send({ type: "adapter", request, info: { name, rank, scale, factors: tensors.size - modules, modules } });
    }
    case "close-adapter":
      lab.closeAdapter();
      return send({ type: "adapter", request, info: null });
    case "merge": {
      const { folder, tokens, masks, missingCode } = await lab.whileIdle("merge", async () => {
        const base = await openFolder(message.base);
        const store = await openOpfsStore();
        return mergeInto(message.target, base, store, message.runId, (done, total) =>
          send({ type: "merge-progress", done, total }),
        );
      });
      return send({ type: "merged", request, folder, tokens, masks, missingCode });
    }
    case "try-out":
      return tries.answer(lab, message);
    case "start":
      return watch(request, await lab.start(message.config, message.rows, message.title, message.now));
    case "resume":
      return watch(request, await lab.resume(message.runId, message.rows, message.steps));
  }
}

/** The plan, with a warning when the checkpoints would not fit into this browser's storage. */
async function planHere({ lab, store }: Connected, config: LabConfig): Promise<Plan> {
  const plan = await lab.plan(config);
  // Trying room out could take it from a checkpoint that is being written.
  if ((await heldRuns()).size > 0) return plan;
  const wanted = checkpointsAtOnce(config) * plan.checkpointBytes;
  const free = await oneAtATime("room", () => freeRoom(store, wanted));
  const warning = checkpointRoomWarning(config, plan.checkpointBytes, free);
  return warning === null ? plan : { ...plan, warnings: [...plan.warnings, warning] };
}

/** Announces a run that began, and what ends it. */
function watch(request: RequestId, started: StartedRun): void {
  const { manifest, resumedAt, trainRows, heldOutRows, done } = started;
  send({ type: "started", request, manifest, resumedAt, trainRows, heldOutRows });
  done.catch((thrown: unknown) => fail(null, thrown));
}

const tries = tryOuts(send);
let benchStop = new AbortController();

/** Samples for the reward bench until it is done or stopped. */
async function bench(lab: Session, message: Extract<ToTrainer, { type: "bench" }>): Promise<void> {
  const { request, config, indices, loops } = message;
  benchStop = new AbortController();
  await lab.bench(config, indices, loops, (group) => send({ type: "bench-group", group }), benchStop.signal);
  send({ type: "bench-done", request });
}

async function control(type: RunControl | "checkpoint"): Promise<void> {
  const lab = (await session)?.lab;
  if (type === "checkpoint") lab?.trainer?.askCheckpoint();
  else await lab?.control(type);
}

self.onmessage = ({ data }: MessageEvent<ToTrainer>) => {
  if (data.type === "connect") {
    session = connect(data);
    session.catch(() => undefined); // reported as "gpu"; every later request fails with the same sentence
  } else if (data.type === "bench-stop") benchStop.abort();
  else if (data.type === "try-stop") tries.stop();
  else if (data.type === "stop-loading") stopLoading();
  else if ("request" in data) answer(data).catch((thrown: unknown) => fail(data.request, thrown));
  else control(data.type).catch((thrown: unknown) => fail(null, thrown));
};
