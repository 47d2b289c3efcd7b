/** Language models in this tab, each in its own worker. */
import { toLabError } from "../src/engine/errors.ts";
import { JudgeFailure } from "../src/engine/rewards/judge/providers/failure.ts";
import type { JudgeProvider } from "../src/engine/rewards/judge/providers/provider.ts";
import { webllmModel } from "../src/engine/rewards/judge/providers/webllm-model.ts";
import { connect, type Port } from "../src/protocol/rpc.ts";
import type { WebllmCalls } from "./webllm.ts";

/** The part of a worker that is used here. */
export type ModelWorker = Port & Pick<Worker, "terminate" | "onerror">;

/** @param share 0..1 of the model's files */
type OnProgress = (text: string, share: number) => void;
/** The provider of a model by its setting, fetched and loaded at the first call. @throws JudgeFailure("unavailable") */
export type TabModels = (name: string, onProgress: OnProgress) => Promise<JudgeProvider>;

interface Held {
  readonly model: string;
  readonly provider: Promise<JudgeProvider>;
  /** Ends the worker; pending and later calls fail with the cause. */
  retire(cause: string): void;
}

/** Models of a tab, one at a time: a new model replaces the previous one, whose provider then fails. */
export function modelsIn(openWorker: () => ModelWorker): TabModels {
  let kept: Held | null = null;
  return async (name, onProgress) => {
    const model = webllmModel(name);
    if (kept?.model === model) return kept.provider;
    kept?.retire(`${model} was loaded in its place`);
    const mine = hold(model, openWorker(), onProgress);
    kept = mine;
    mine.provider.catch(() => {
      mine.retire("it could not be loaded");
      // The next call may succeed once the network is back.
      if (kept === mine) kept = null;
    });
    return mine.provider;
  };
}

/** The models of this tab. */
export const tabModels = modelsIn(
  () => new Worker(new URL("./webllm.ts", import.meta.url), { type: "module", name: "judge-model" }),
);

/** Failure kind of calls that the worker can no longer answer. */
const GONE = "unsupported";

function hold(model: string, worker: ModelWorker, onProgress: OnProgress): Held {
  const { call, fail } = connect<WebllmCalls>(worker, {});
  let retired: JudgeFailure | null = null;
  const unusable = (cause: string): JudgeFailure =>
    new JudgeFailure("unavailable", `The model ${model} cannot be used in this tab: ${cause}`);
  worker.onerror = (event) => {
    event.preventDefault();
    fail({ code: GONE, message: event.message || "its script could not be loaded" }, false);
  };
  const provider: JudgeProvider = {
    kind: "webllm",
    model,
    place: "in this tab",
    async complete(request, signal, onCall) {
      if (retired !== null) throw retired;
      onCall();
      return call.complete(request, signal).catch((thrown: unknown) => {
        const { code, message } = toLabError(thrown);
        throw code === GONE
          ? unusable(message)
          : new JudgeFailure("server", `The model in this tab failed: ${message}`);
      });
    },
  };
  const loaded = call.load(model, onProgress).catch((thrown: unknown) => {
    throw unusable(toLabError(thrown).message);
  });
  return {
    model,
    provider: loaded.then(() => provider),
    retire(cause) {
      retired ??= unusable(cause);
      fail({ code: GONE, message: cause }, true);
      worker.terminate();
    },
  };
}
