/** Page side of the trainer worker: model, plan, run control. */
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { LoopId } from "../../engine/runs/records.ts";
import type { FolderRef, RequestId, WireError } from "../../protocol/common.ts";
import type {
  AdapterInfo,
  CachedModel,
  FromTrainer,
  ModelInfo,
  RowSelection,
  RunPlan,
  StorageChoice,
  SystemReport,
  ToTrainer,
  TryPicture,
  TryTask,
  TryWeights,
} from "../../protocol/trainer.ts";
import { Requests } from "./requests.ts";

type Answer = Extract<
  FromTrainer,
  {
    readonly type:
      | "model"
      | "stored-models"
      | "plan"
      | "system"
      | "self-tested"
      | "adapter"
      | "started"
      | "bench-done"
      | "tried"
      | "merged";
  }
>;
export type Started = Omit<Extract<Answer, { readonly type: "started" }>, "type" | "request">;
export type Merged = Pick<Extract<Answer, { readonly type: "merged" }>, "folder" | "tokens" | "masks" | "missingCode">;
export type Tried = Pick<Extract<Answer, { readonly type: "tried" }>, "answer" | "seconds">;
/** Everything the trainer says unasked. */
export type TrainerMessage = Exclude<FromTrainer, Answer>;

export interface TrainerClient {
  openModel(folder: FolderRef, choice: StorageChoice): Promise<ModelInfo>;
  /** Conversions of checkpoints that the page keeps. */
  storedModels(): Promise<readonly CachedModel[]>;
  openStored(id: string): Promise<ModelInfo>;
  /** Settles with those that are left. */
  removeStored(id: string): Promise<readonly CachedModel[]>;
  /** The loading under way then fails as cancelled. */
  stopLoading(): void;
  plan(config: LabConfig): Promise<RunPlan>;
  /** What is held on the device now; answered in the middle of a step too. */
  system(): Promise<SystemReport>;
  /** Small problems with known answers; every check arrives as an event. @throws when a run is under way */
  selfTest(): Promise<void>;
  /** @param now ISO time that the run folder records */
  start(config: LabConfig, rows: RowSelection, title: string, now: string): Promise<Started>;
  /** @param steps the run's length from now on; as it was by default */
  resume(runId: string, rows: RowSelection, now: string, steps?: number): Promise<Started>;
  /** Samples groups for the reward bench; they arrive as events. Settles when all are there or it was stopped. */
  bench(config: LabConfig, indices: readonly number[], loops: readonly LoopId[]): Promise<void>;
  stopBench(): void;
  /** The adapter that runs and try-outs may start from; null closes it. */
  openAdapter(folder: FolderRef | null): Promise<AdapterInfo | null>;
  /** Asks the model about a picture; what it is busy with arrives as events. */
  tryOut(picture: TryPicture, task: TryTask, weights: TryWeights): Promise<Tried>;
  stopTryOut(): void;
  /** Writes a run's merged checkpoint below a folder; progress arrives as events. */
  merge(runId: string, base: FolderRef, target: FileSystemDirectoryHandle): Promise<Merged>;
  pause(): void;
  play(): void;
  /** One optimiser step, then pause. */
  step(): void;
  /** One phase of the step, then pause. */
  phase(): void;
  checkpoint(): void;
  stop(): void;
  /** @returns the way to stop listening */
  onEvent(listener: (event: TrainerMessage) => void): () => void;
  /** Rejects everything under way and, when the worker is gone for good, whatever is asked later. */
  fail(error: WireError, forGood: boolean): void;
}

const ANSWERS: ReadonlySet<string> = new Set<Answer["type"]>([
  "model",
  "stored-models",
  "plan",
  "system",
  "self-tested",
  "adapter",
  "started",
  "bench-done",
  "tried",
  "merged",
]);

function isAnswer(event: FromTrainer): event is Answer {
  return ANSWERS.has(event.type);
}

export function createTrainerClient(worker: Pick<Worker, "postMessage" | "addEventListener">): TrainerClient {
  const requests = new Requests<Answer>();
  const listeners = new Set<(event: TrainerMessage) => void>();

  worker.addEventListener("message", (message: MessageEvent) => {
    const event = message.data as FromTrainer;
    if (isAnswer(event)) {
      requests.answer(event.request, event);
    } else if (event.type === "failed" && event.request !== null) {
      requests.fail(event.request, event.error);
    } else {
      for (const listener of listeners) listener(event);
    }
  });

  const post = (message: ToTrainer): void => worker.postMessage(message);
  async function ask<T extends Answer["type"]>(
    type: T,
    message: (request: RequestId) => ToTrainer,
  ): Promise<Extract<Answer, { readonly type: T }>> {
    const answer = await requests.ask((request) => post(message(request)));
    if (answer.type === type) return answer as Extract<Answer, { readonly type: T }>;
    throw new LabError("internal", `The trainer answered with "${answer.type}" where "${type}" was due`);
  }

  return {
    openModel: async (folder, choice) =>
      (await ask("model", (request) => ({ type: "open-model", request, folder, choice }))).info,
    storedModels: async () => (await ask("stored-models", (request) => ({ type: "stored-models", request }))).models,
    openStored: async (id) => (await ask("model", (request) => ({ type: "open-stored", request, id }))).info,
    removeStored: async (id) =>
      (await ask("stored-models", (request) => ({ type: "remove-stored", request, id }))).models,
    stopLoading: () => post({ type: "stop-loading" }),
    plan: async (config) => (await ask("plan", (request) => ({ type: "plan", request, config }))).plan,
    system: async () => (await ask("system", (request) => ({ type: "system", request }))).report,
    async selfTest() {
      await ask("self-tested", (request) => ({ type: "self-test", request }));
    },
    start: (config, rows, title, now) =>
      ask("started", (request) => ({ type: "start", request, config, rows, title, now })),
    resume: (runId, rows, now, steps) =>
      ask("started", (request) => ({
        ...{ type: "resume", request, runId, rows, now },
        ...(steps === undefined ? {} : { steps }),
      })),
    async bench(config, indices, loops) {
      await ask("bench-done", (request) => ({ type: "bench", request, config, indices, loops }));
    },
    stopBench: () => post({ type: "bench-stop" }),
    async openAdapter(folder) {
      const asked = (request: RequestId): ToTrainer =>
        folder === null ? { type: "close-adapter", request } : { type: "open-adapter", request, folder };
      return (await ask("adapter", asked)).info;
    },
    tryOut: (picture, task, weights) =>
      ask("tried", (request) => ({ type: "try-out", request, picture, task, weights })),
    merge: (runId, base, target) => ask("merged", (request) => ({ type: "merge", request, runId, base, target })),
    stopTryOut: () => post({ type: "try-stop" }),
    pause: () => post({ type: "pause" }),
    play: () => post({ type: "play" }),
    step: () => post({ type: "step" }),
    phase: () => post({ type: "phase" }),
    checkpoint: () => post({ type: "checkpoint" }),
    stop: () => post({ type: "stop" }),
    onEvent(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    fail: (error, forGood) => requests.failAll(error, forGood),
  };
}
