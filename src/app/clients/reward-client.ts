/** Page side of the reward worker: try-outs and the bench. */
import { LabError } from "../../engine/errors.ts";
import type { RewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RolloutFacts, ScoredRollout } from "../../engine/rewards/types.ts";
import type { WireError } from "../../protocol/common.ts";
import type { FromReward, GroupRequest } from "../../protocol/reward.ts";
import { Requests } from "./requests.ts";

type Answer = Extract<FromReward, { readonly type: "scores" }>;

export interface RewardClient {
  /** Rewards of one group as a plan gives them. @throws LabError("held") when the group cannot be scored */
  scoreGroup(group: readonly RolloutFacts[], plan: RewardPlan): Promise<readonly ScoredRollout[]>;
  /** Rejects everything under way and, when the worker is gone for good, whatever is asked later. */
  fail(error: WireError, forGood: boolean): void;
}

export function createRewardClient(worker: Pick<Worker, "postMessage" | "addEventListener">): RewardClient {
  const requests = new Requests<Answer>();
  worker.addEventListener("message", (message: MessageEvent) => {
    const event = message.data as FromReward;
    if (event.type === "scores") requests.answer(event.request, event);
    else if (event.type === "failed" && event.request !== null) requests.fail(event.request, event.error);
  });
  return {
    async scoreGroup(group, plan) {
      const answer = await requests.ask((request) =>
        worker.postMessage({ type: "score-group", request, group, plan } satisfies GroupRequest),
      );
      if (answer.scores.length === group.length) return answer.scores;
      throw new LabError("internal", `${group.length} rollouts got ${answer.scores.length} scores`);
    },
    fail: (error, forGood) => requests.failAll(error, forGood),
  };
}
