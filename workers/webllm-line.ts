/** The reward worker's line to the worker that holds a language model. */
import { JudgeFailure } from "../src/engine/rewards/judge/failure.ts";
import type { ChatReply, JudgeProvider } from "../src/engine/rewards/judge/provider.ts";
import type { FromJudge } from "../src/protocol/judge.ts";
import type { FromWebllm, ToWebllm } from "./webllm.ts";

/** Small enough to share a GPU with training, large enough to keep to a JSON form. */
const DEFAULT_MODEL = "Qwen2.5-1.5B-Instruct-q4f16_1-MLC";

let kept: { readonly model: string; readonly worker: Worker; readonly provider: Promise<JudgeProvider> } | null = null;

/** The provider of a model, fetched and loaded at the first call; another model takes the place of the one before. */
export async function webllmProvider(name: string, send: (message: FromJudge) => void): Promise<JudgeProvider> {
  const model = name === "" ? DEFAULT_MODEL : name;
  if (kept?.model === model) return kept.provider;
  kept?.worker.terminate();
  const worker = new Worker(new URL("./webllm.ts", import.meta.url), { type: "module", name: "judge-model" });
  const provider = open(model, worker, send);
  const mine = { model, worker, provider };
  kept = mine;
  provider.catch(() => {
    worker.terminate();
    // The next call may find the network again.
    if (kept === mine) kept = null;
  });
  return provider;
}

interface Waiting {
  readonly resolve: (reply: ChatReply) => void;
  readonly reject: (failure: JudgeFailure) => void;
}

async function open(model: string, worker: Worker, send: (message: FromJudge) => void): Promise<JudgeProvider> {
  const waiting = new Map<number, Waiting>();
  let next = 1;
  const post = (message: ToWebllm): void => worker.postMessage(message);
  await new Promise<void>((resolve, reject) => {
    const failed = (message: string): void => {
      const failure = new JudgeFailure("unavailable", `The model ${model} cannot be used in this tab: ${message}`);
      reject(failure);
      for (const own of waiting.values()) own.reject(failure);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      failed(event.message || "its script could not be loaded");
    };
    worker.onmessage = ({ data }: MessageEvent<FromWebllm>) => {
      if (data.type === "progress") send({ type: "judge-progress", text: data.text, share: data.share });
      else if (data.type === "loaded") resolve();
      else if (data.type === "reply") {
        const { text, prompt, reply } = data;
        waiting.get(data.id)?.resolve({ text, promptTokens: prompt, completionTokens: reply });
      } else if (data.id === null) failed(data.message);
      else waiting.get(data.id)?.reject(new JudgeFailure("server", `The model in this tab failed: ${data.message}`));
    };
    post({ type: "load", model });
  });
  return {
    kind: "webllm",
    model,
    place: "in this tab",
    async complete(request, signal, onCall) {
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
}
