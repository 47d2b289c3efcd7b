/** Page side of the reward worker: try-outs and the bench. */

import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { RewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RolloutFacts, ScoredRollout } from "../../engine/rewards/types.ts";
import type { WireError } from "../../protocol/common.ts";
import type { AllowRequest, BeginRequest, FromReward, GroupRequest } from "../../protocol/reward.ts";
import { Requests } from "./requests.ts";

type Answer = Extract<FromReward, { readonly type: "scores" | "begun" | "allowed" }>;

export interface RewardClient {
  /** Rewards of one group as a plan gives them. @throws LabError("held") when the group cannot be scored */
  scoreGroup(group: readonly RolloutFacts[], plan: RewardPlan): Promise<readonly ScoredRollout[]>;
  /** Tells the worker what the person agreed to; settles when it knows. */
  allow(judges: readonly string[], rewards: readonly string[]): Promise<void>;
  /** Opens the judge of a configuration. @throws LabError when it cannot be set up */
  begin(config: LabConfig): Promise<void>;
  /** Rejects everything under way and, when the worker is gone for good, whatever is asked later. */
  fail(error: WireError, forGood: boolean): void;
}

export function createRewardClient(worker: Pick<Worker, "postMessage" | "addEventListener">): RewardClient {
  const requests = new Requests<Answer>();
  worker.addEventListener("message", (message: MessageEvent) => {
    const event = message.data as FromReward;
    if (event.type !== "failed") requests.answer(event.request, event);
    else if (event.request !== null) requests.fail(event.request, event.error);
  });
  return {
    async scoreGroup(group, plan) {
      const answer = await requests.ask((request) =>
        worker.postMessage({ type: "score-group", request, group, plan } satisfies GroupRequest),
      );
      if (answer.type === "scores" && answer.scores.length === group.length) return answer.scores;
      throw new LabError("internal", `${group.length} rollouts did not get as many scores`);
    },
    async allow(judges, rewards) {
      await requests.ask((request) =>
        worker.postMessage({ type: "allow", request, judges, rewards } satisfies AllowRequest),
      );
    },
    async begin(config) {
      await requests.ask((request) => worker.postMessage({ type: "begin", request, config } satisfies BeginRequest));
    },
    fail: (error, forGood) => requests.failAll(error, forGood),
  };
}
