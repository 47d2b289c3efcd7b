/** The reward worker's line to the worker that holds a language model. */
import { JudgeFailure } from "../src/engine/rewards/judge/providers/failure.ts";
import type { ChatReply, JudgeProvider } from "../src/engine/rewards/judge/providers/provider.ts";
import { webllmModel } from "../src/engine/rewards/judge/providers/webllm-model.ts";
import type { FromJudge } from "../src/protocol/judge.ts";
import type { FromWebllm, ToWebllm } from "./webllm.ts";

/** As much of a worker as is needed here. */
export type ModelWorker = Pick<Worker, "postMessage" | "terminate" | "onmessage" | "onerror">;

/** The provider of a model by its setting, fetched and loaded at the first call. @throws JudgeFailure("unavailable") */
export type WebllmModels = (name: string, send: (message: FromJudge) => void) => Promise<JudgeProvider>;

interface Held {
  readonly model: string;
  readonly provider: Promise<JudgeProvider>;
  /** Ends the worker; whoever waits, and whoever asks from now on, is told why. */
  retire(cause: string): void;
}

/** Models of a tab, one at a time: another model takes the place of the one before, whose provider then refuses. */
export function webllmModels(openWorker: () => ModelWorker): WebllmModels {
  let kept: Held | null = null;
  return async (name, send) => {
    const model = webllmModel(name);
    if (kept?.model === model) return kept.provider;
    kept?.retire(`${model} was loaded in its place`);
    const mine = hold(model, openWorker(), send);
    kept = mine;
    mine.provider.catch(() => {
      mine.retire("it could not be loaded");
      // The next call may find the network again.
      if (kept === mine) kept = null;
    });
    return mine.provider;
  };
}

/** The models of this tab, each in a worker of its own. */
export const tabModels = webllmModels(
  () => new Worker(new URL("./webllm.ts", import.meta.url), { type: "module", name: "judge-model" }),
);

interface Waiting {
  readonly resolve: (reply: ChatReply) => void;
  readonly reject: (failure: JudgeFailure) => void;
}

function hold(model: string, worker: ModelWorker, send: (message: FromJudge) => void): Held {
  const waiting = new Map<number, Waiting>();
  let next = 1;
  let retired: JudgeFailure | null = null;
  const post = (message: ToWebllm): void => worker.postMessage(message);
  let ready = (): void => undefined;
  let refuse = (_: JudgeFailure): void => undefined;
  const loaded = new Promise<void>((resolve, reject) => {
    ready = resolve;
    refuse = reject;
  });
  const fail = (message: string): JudgeFailure => {
    const failure = new JudgeFailure("unavailable", `The model ${model} cannot be used in this tab: ${message}`);
    refuse(failure);
    for (const own of waiting.values()) own.reject(failure);
    return failure;
  };
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message || "its script could not be loaded");
  };
  worker.onmessage = ({ data }: MessageEvent<FromWebllm>) => {
    if (data.type === "progress") send({ type: "judge-progress", text: data.text, share: data.share });
    else if (data.type === "loaded") ready();
    else if (data.type === "reply") waiting.get(data.id)?.resolve(data.reply);
    else if (data.id === null) fail(data.message);
    else waiting.get(data.id)?.reject(new JudgeFailure("server", `The model in this tab failed: ${data.message}`));
  };
  post({ type: "load", model });
  const provider: JudgeProvider = {
    kind: "webllm",
    model,
    place: "in this tab",
    async complete(request, signal, onCall) {
      if (retired !== null) throw retired;
      onCall();
      const id = next++;
      const interrupt = (): void => post({ type: "interrupt", id });
      signal.addEventListener("abort", interrupt);
      try {
        return await new Promise<ChatReply>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          post({ type: "complete", id, request });
        });
      } finally {
        signal.removeEventListener("abort", interrupt);
        waiting.delete(id);
      }
    },
  };
  return {
    model,
    provider: loaded.then(() => provider),
    retire(cause) {
      retired ??= fail(cause);
      worker.terminate();
    },
  };
}
