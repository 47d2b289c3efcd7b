/** Runs the trainer on this worker's own GPU device; wires messages to the session and nothing else. */

import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { LabError } from "../src/engine/errors.ts";
import { type EngineDevice, openAgain, openDevice } from "../src/engine/gpu/device.ts";
import type { Sa2vaModel } from "../src/engine/model/sa2va.ts";
import { Session, type StartedRun } from "../src/engine/rl/session.ts";
import { openOpfsStore } from "../src/engine/runs/opfs-store.ts";
import type { RequestId } from "../src/protocol/common.ts";
import type { FromTrainer, ToTrainer } from "../src/protocol/trainer.ts";
import { folderName, openFolder } from "./folders.ts";
import { rowsOver, scorerOver } from "./lines.ts";
import { mergeInto } from "./merge.ts";
import { tryOuts } from "./try-outs.ts";
import { wireError } from "./wire.ts";

type Connect = Extract<ToTrainer, { type: "connect" }>;
type Request = Extract<ToTrainer, { readonly request: RequestId }>;

const send = (message: FromTrainer): void => self.postMessage(message);
const fail = (request: RequestId | null, thrown: unknown): void =>
  send({ type: "failed", request, error: wireError(thrown) });

let session: Promise<Session> | undefined;

async function connect(lines: Connect): Promise<Session> {
  const device = await openDevice(navigator.gpu).catch((thrown: unknown) => {
    send({ type: "gpu", report: null, error: wireError(thrown) });
    throw thrown;
  });
  send({ type: "gpu", report: device.report, error: null });
  watchLoss(device);
  const rows = rowsOver(lines.data);
  tries.drawFrom(rows);
  return new Session({
    device,
    reopen: async () => {
      const again = await openAgain(() => openDevice(navigator.gpu));
      send({ type: "gpu", report: again.report, error: null });
      watchLoss(again);
      return again;
    },
    store: await openOpfsStore(),
    rows,
    scorer: scorerOver(lines.reward),
    now: () => performance.now() / 1000,
    emit: send,
  });
}

/** A run deals with the loss of its device itself. */
function watchLoss(device: EngineDevice): void {
  device.lost
    .then(async (sentence) => {
      const lab = await session;
      if (lab?.trainer === undefined && lab?.device === device) {
        fail(null, new LabError("gpu", `${sentence}; reload the page to go on`));
      }
    })
    .catch((thrown: unknown) => fail(null, thrown));
}

async function answer(message: Request): Promise<void> {
  if (session === undefined) throw new LabError("internal", "The trainer was asked before its lines were laid");
  const lab = await session;
  const { request } = message;
  switch (message.type) {
    case "open-model": {
      const name = folderName(message.folder);
      const model = await readModel(lab, await openFolder(message.folder), name);
      const { config, parameters, bytes } = model;
      return send({
        type: "model",
        request,
        info: {
          name,
          family: config.language.family,
          parameters,
          bytes,
          vocabulary: config.language.vocabSize,
          visualTokensPerTile: config.tokensPerTile,
          gpu: lab.device.report,
        },
      });
    }
    case "plan":
      return send({ type: "plan", request, plan: await lab.plan(message.config) });
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
      lab.requireIdle();
      const base = await openFolder(message.base);
      const store = await openOpfsStore();
      const { folder, tokens, masks } = await mergeInto(message.target, base, store, message.runId, (done, total) =>
        send({ type: "merge-progress", done, total }),
      );
      return send({ type: "merged", request, folder, tokens, masks });
    }
    case "try-out":
      return tries.answer(lab, message);
    case "start":
      return watch(request, await lab.start(message.config, message.rows, message.title, message.now));
    case "resume":
      return watch(request, await lab.resume(message.runId, message.rows));
  }
}

/** Loads a model with progress; says so when a failure leaves the session without one. */
async function readModel(lab: Session, folder: ByteFolder, name: string): Promise<Sa2vaModel> {
  try {
    return await lab.openModel(folder, name, ({ bytes, totalBytes, name: what }) =>
      send({ type: "model-progress", loadedBytes: bytes, totalBytes, what }),
    );
  } catch (thrown) {
    if (lab.model === undefined) send({ type: "model-closed" });
    throw thrown;
  }
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

async function control(type: "pause" | "play" | "step" | "phase" | "checkpoint" | "stop"): Promise<void> {
  const trainer = (await session)?.trainer;
  if (trainer === undefined) return;
  if (type === "checkpoint") trainer.askCheckpoint();
  else trainer.gate[type]();
}

self.onmessage = ({ data }: MessageEvent<ToTrainer>) => {
  if (data.type === "connect") {
    session = connect(data);
    session.catch(() => undefined); // reported as "gpu"; every later request fails with the same sentence
  } else if (data.type === "bench-stop") benchStop.abort();
  else if (data.type === "try-stop") tries.stop();
  else if ("request" in data) answer(data).catch((thrown: unknown) => fail(data.request, thrown));
  else control(data.type).catch((thrown: unknown) => fail(null, thrown));
};
