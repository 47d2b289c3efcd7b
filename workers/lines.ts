/** The trainer's two lines: rows from the data worker, scores from the reward worker. */

import type { RowSource, TrainingRow } from "../src/engine/data/training-row.ts";
import { LabError } from "../src/engine/errors.ts";
import type { RewardScorer, ScoredRollout } from "../src/engine/rewards/types.ts";
import type { RequestId, WireError } from "../src/protocol/common.ts";
import type { SampleReply, SampleRequest } from "../src/protocol/data.ts";
import type { FromReward, FromTrainerToReward, GroupRequest, ScoreRequest } from "../src/protocol/reward.ts";

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: LabError) => void;
}

/** Numbers requests and finds the one an answer belongs to. */
function ledger<T>() {
  const waiting = new Map<RequestId, Waiting<T>>();
  let next = 1;
  return {
    ask: (post: (request: RequestId) => void): Promise<T> =>
      new Promise((resolve, reject) => {
        const request = next++;
        waiting.set(request, { resolve, reject });
        post(request);
      }),
    settle(request: RequestId, outcome: { readonly value: T } | { readonly error: WireError }): void {
      const own = waiting.get(request);
      waiting.delete(request);
      if ("value" in outcome) own?.resolve(outcome.value);
      else own?.reject(restore(outcome.error));
    },
    failAll(error: WireError): void {
      for (const own of waiting.values()) own.reject(restore(error));
      waiting.clear();
    },
  };
}

function restore({ code, message, subject }: WireError): LabError {
  return new LabError(code, message, subject === undefined ? {} : { subject });
}

export function rowsOver(port: MessagePort): RowSource {
  const requests = ledger<TrainingRow>();
  port.onmessage = ({ data }: MessageEvent<SampleReply>) => {
    if ("error" in data) return requests.settle(data.request, { error: data.error });
    const { width, height } = data.summary;
    requests.settle(data.request, {
      value: {
        summary: data.summary,
        rgb: { width, height, data: new Uint8Array(data.rgb) },
        mask: new Uint8Array(data.mask),
      },
    });
  };
  return (index) => requests.ask((request) => port.postMessage({ request, index } satisfies SampleRequest));
}

export function scorerOver(port: MessagePort): RewardScorer {
  const requests = ledger<FromReward>();
  const post = (message: FromTrainerToReward): void => port.postMessage(message);
  port.onmessage = ({ data }: MessageEvent<FromReward>) => {
    if (data.type === "failed") {
      if (data.request === null) requests.failAll(data.error);
      else requests.settle(data.request, { error: data.error });
    } else if ("request" in data && typeof data.request === "number") {
      requests.settle(data.request, { value: data });
    }
  };
  const scores = async (
    signal: AbortSignal | undefined,
    message: (request: RequestId) => ScoreRequest | GroupRequest,
  ): Promise<readonly ScoredRollout[]> => {
    let number = 0;
    const cancel = (): void => post({ type: "cancel", request: number });
    const asked = requests.ask((request) => {
      number = request;
      post(message(request));
    });
    signal?.addEventListener("abort", cancel);
    const answer = await asked.finally(() => signal?.removeEventListener("abort", cancel));
    if (answer.type === "scores") return answer.scores;
    throw new LabError("internal", `The reward worker answered "${answer.type}" where scores were due`);
  };
  return {
    score: (pairs) => scores(undefined, (request) => ({ type: "score", request, pairs })),
    scoreGroup: (group, plan, signal) => scores(signal, (request) => ({ type: "score-group", request, group, plan })),
    begin: async (config) => {
      const answer = await requests.ask((request) => post({ type: "begin", request, config }));
      if (answer.type === "begun") return answer.judge;
      throw new LabError("internal", `The reward worker answered "${answer.type}" at the start of a run`);
    },
  };
}
