/** Page side of the data worker: shards, pictures, stored runs. */
import { LabError } from "../../engine/errors.ts";
import type { RunExport } from "../../engine/export/export-names.ts";
import type { UnscoredGroup } from "../../engine/rewards/bench/bench-group.ts";
import type { Alarm } from "../../engine/runs/alarms.ts";
import type { StoredEvaluation } from "../../engine/runs/evaluations.ts";
import type { GroupRecord } from "../../engine/runs/records.ts";
import type { Thumb, Thumbs } from "../../engine/runs/thumbs.ts";
import type { FolderRef, RequestId, WireError } from "../../protocol/common.ts";
import type { DataSetInfo, FromData, ToData } from "../../protocol/data.ts";
import { Requests } from "./requests.ts";

type Answer = Extract<FromData, { readonly request: RequestId }>;
type AnswerOf<T extends Answer["type"]> = Extract<Answer, { readonly type: T }>;
/** A request without its number, which is given here. */
type Question =
  Extract<ToData, { readonly request: RequestId }> extends infer Q
    ? Q extends { readonly request: RequestId }
      ? Omit<Q, "request">
      : never
    : never;

export type StoredRuns = Omit<AnswerOf<"runs">, "type" | "request">;
export type StoredRun = Omit<AnswerOf<"run">, "type" | "request">;
/** What arrives without having been asked for one by one. */
export type DataEvent = Extract<FromData, { readonly type: "progress" | "rows" | "failed" }>;

export interface DataClient {
  /** Indexes the folders; rows arrive as events while it runs. */
  open(folders: readonly FolderRef[]): Promise<DataSetInfo>;
  cancelOpen(): void;
  /**
   * Picture of a row, its longer side at most `maxSide` device pixels; cached, the caller must not close it.
   * @param imageId fails when the open row of that id has another picture; null takes the one it has
   */
  image(rowId: string, imageId: string | null, maxSide: number): Promise<ImageBitmap>;
  /** The row's record as JSON text. */
  rawRow(rowId: string): Promise<string>;
  /** Makes the runs of a served folder readable; null when it holds none. */
  recorded(baseUrl: string): Promise<string | null>;
  runs(): Promise<StoredRuns>;
  run(runId: string): Promise<StoredRun>;
  runGroups(runId: string, step: number): Promise<readonly GroupRecord[]>;
  /** Held-out evaluations of a run, oldest first. */
  evaluations(runId: string): Promise<readonly StoredEvaluation[]>;
  /** Alarms of a run, oldest first; null for a run of a version that kept none. */
  alarms(runId: string): Promise<readonly Alarm[] | null>;
  thumbs(runId: string): Promise<Thumbs>;
  /** @param thumb null takes it back */
  setThumb(runId: string, rollout: string, thumb: Thumb | null): Promise<Thumbs>;
  exportRun(runId: string, format: "zip" | RunExport): Promise<Extract<FromData, { type: "exported" }>>;
  deleteRun(runId: string): Promise<void>;
  renameRun(runId: string, title: string): Promise<void>;
  /** Removes the frozen features that runs have kept. */
  deleteFeatures(): Promise<void>;
  /** Rollouts of a file for the reward bench, not yet scored. */
  rollouts(file: Blob, name: string): Promise<readonly UnscoredGroup[]>;
  /** @returns the way to stop listening */
  onEvent(listener: (event: DataEvent) => void): () => void;
  /** Rejects everything under way and, when the worker is gone for good, whatever is asked later. */
  fail(error: WireError, forGood: boolean): void;
}

/** Pictures kept, whatever their size; evicted ones are freed when nothing draws them any more. */
const PICTURES = 256;

export function createDataClient(worker: Pick<Worker, "postMessage" | "addEventListener">): DataClient {
  const requests = new Requests<Answer>();
  const listeners = new Set<(event: DataEvent) => void>();
  const pictures = new Map<string, Promise<ImageBitmap>>();

  worker.addEventListener("message", (message: MessageEvent) => {
    const event = message.data as FromData;
    if (event.type === "progress" || event.type === "rows") {
      for (const listener of listeners) listener(event);
    } else if (event.type === "failed") {
      if (event.request === null) for (const listener of listeners) listener(event);
      else requests.fail(event.request, event.error);
    } else {
      requests.answer(event.request, event);
    }
  });

  const post = (message: ToData): void => worker.postMessage(message);
  async function ask<T extends Answer["type"]>(question: Question, type: T): Promise<AnswerOf<T>> {
    const answer = await requests.ask((request) => post({ ...question, request } as ToData));
    if (answer.type === type) return answer as AnswerOf<T>;
    throw new LabError("internal", `The data worker answered "${question.type}" with "${answer.type}"`);
  }

  return {
    async open(folders) {
      pictures.clear();
      return (await ask({ type: "open", folders }, "opened")).info;
    },
    cancelOpen: () => post({ type: "cancel-open" }),
    image(rowId, imageId, maxSide) {
      const key = `${maxSide} ${imageId} ${rowId}`;
      const picture =
        pictures.get(key) ?? ask({ type: "image", rowId, imageId, maxSide }, "image").then((it) => it.bitmap);
      // Taken out and put back: the map's order is the order of last use.
      pictures.delete(key);
      pictures.set(key, picture);
      picture.catch(() => pictures.delete(key));
      const oldest = pictures.keys().next();
      if (pictures.size > PICTURES && oldest.done !== true) pictures.delete(oldest.value);
      return picture;
    },
    rawRow: async (rowId) => (await ask({ type: "raw-row", rowId }, "raw-row")).text,
    recorded: async (baseUrl) => (await ask({ type: "recorded", baseUrl }, "recorded")).runId,
    runs: () => ask({ type: "runs" }, "runs"),
    run: (runId) => ask({ type: "run", runId }, "run"),
    runGroups: async (runId, step) => (await ask({ type: "run-groups", runId, step }, "run-groups")).groups,
    evaluations: async (runId) => (await ask({ type: "evaluations", runId }, "evaluations")).evaluations,
    alarms: async (runId) => (await ask({ type: "alarms", runId }, "alarms")).alarms,
    thumbs: async (runId) => (await ask({ type: "thumbs", runId }, "thumbs")).thumbs,
    setThumb: async (runId, rollout, thumb) =>
      (await ask({ type: "set-thumb", runId, rollout, thumb }, "thumbs")).thumbs,
    exportRun: (runId, format) => ask({ type: "export-run", runId, format }, "exported"),
    async deleteRun(runId) {
      await ask({ type: "delete-run", runId }, "done");
    },
    async renameRun(runId, title) {
      await ask({ type: "rename-run", runId, title }, "done");
    },
    async deleteFeatures() {
      await ask({ type: "delete-features" }, "done");
    },
    rollouts: async (file, name) => (await ask({ type: "rollouts", file, name }, "rollouts")).groups,
    onEvent(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    fail: (error, forGood) => requests.failAll(error, forGood),
  };
}
