/** Page side of the judge: a line of its own to the reward worker. The key passes through here and is kept nowhere. */
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { RequestId, WireError } from "../../protocol/common.ts";
import type { FromJudge, Judged, ToJudge } from "../../protocol/judge.ts";
import type { ToReward } from "../../protocol/reward.ts";
import { askBrowserModel } from "./browser-model.ts";
import { Requests } from "./requests.ts";

type Answer = Extract<FromJudge, { readonly type: "judged" | "models" | "done" }>;

export interface JudgeClient {
  /** Gives the worker the key of one origin; "" takes it away. */
  setKey(key: string, origin: string): void;
  /** Asks the judge of a configuration about pairs. @param fresh leaves the cache out */
  judge(
    config: LabConfig,
    pairs: readonly CaptionPair[],
    options: { readonly rounds: number; readonly fresh: boolean; readonly signal: AbortSignal },
  ): Promise<Judged>;
  models(config: LabConfig): Promise<readonly string[]>;
  /** Forgets all replies of earlier runs. */
  forget(): Promise<void>;
  fail(error: WireError, forGood: boolean): void;
}

/** @param onProgress how much of a model has been fetched into the browser */
export function createJudgeClient(
  worker: Pick<Worker, "postMessage">,
  onProgress: (text: string, share: number) => void,
  onProblem: (error: WireError) => void,
): JudgeClient {
  const requests = new Requests<Answer>();
  const { port1: port, port2 } = new MessageChannel();
  worker.postMessage({ type: "judge-line", port: port2 } satisfies ToReward, [port2]);
  const post = (message: ToJudge): void => port.postMessage(message);
  const prompts = new Map<number, AbortController>();

  const askHere = async ({ id, request }: Extract<FromJudge, { readonly type: "page-prompt" }>): Promise<void> => {
    const stop = new AbortController();
    prompts.set(id, stop);
    try {
      const text = await askBrowserModel(request, stop.signal, (share) => onProgress("Fetching Chrome's model", share));
      post({ type: "page-reply", id, text, problem: "" });
    } catch (thrown) {
      const problem = thrown instanceof Error ? thrown.message : String(thrown);
      post({ type: "page-reply", id, text: null, problem });
    } finally {
      prompts.delete(id);
    }
  };

  port.onmessage = ({ data }: MessageEvent<FromJudge>) => {
    if (data.type === "judge-progress") onProgress(data.text, data.share);
    else if (data.type === "page-prompt") void askHere(data);
    else if (data.type === "page-cancel") prompts.get(data.id)?.abort();
    else if (data.type !== "failed") requests.answer(data.request, data);
    else if (data.request === null) onProblem(data.error);
    else requests.fail(data.request, data.error);
  };

  async function ask<T extends Answer["type"]>(
    type: T,
    message: (request: RequestId) => ToJudge,
    signal?: AbortSignal,
  ): Promise<Extract<Answer, { readonly type: T }>> {
    let number = 0;
    const cancel = (): void => post({ type: "cancel", request: number });
    const asked = requests.ask((request) => {
      number = request;
      post(message(request));
    });
    signal?.addEventListener("abort", cancel);
    const answer = await asked.finally(() => signal?.removeEventListener("abort", cancel));
    if (answer.type === type) return answer as Extract<Answer, { readonly type: T }>;
    throw new LabError("internal", `The judge's line answered "${answer.type}" where "${type}" was due`);
  }

  return {
    setKey: (key, origin) => post({ type: "judge-key", key, origin }),
    judge: (config, pairs, { rounds, fresh, signal }) =>
      ask("judged", (request) => ({ type: "judge-try", request, config, pairs, rounds, fresh }), signal),
    models: async (config) => (await ask("models", (request) => ({ type: "judge-models", request, config }))).models,
    forget: async () => {
      await ask("done", (request) => ({ type: "judge-forget", request }));
    },
    fail: (error, forGood) => requests.failAll(error, forGood),
  };
}
