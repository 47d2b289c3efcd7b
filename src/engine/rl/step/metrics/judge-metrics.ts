/** Metrics of the judge in one step, over both loops; absent without a judge. */
import { totalSpending } from "../../../rewards/judge/budget.ts";
import type { RewardTerm } from "../../../rewards/term.ts";

/** @param rollouts terms of every rollout of the step */
export function judgeMetrics(rollouts: readonly (readonly RewardTerm[])[]): Record<string, number> {
  const terms = rollouts.flat().filter((term) => term.name === "judge");
  const details = terms.flatMap(({ judge }) => judge ?? []);
  if (details.length === 0) return {};
  const { calls, cost } = totalSpending(details);
  const waited = details.reduce((total, { latencyMs }) => total + latencyMs, 0);
  return {
    "judge/verdicts": terms.filter((term) => term.value !== null).length,
    "judge/failures": terms.filter((term) => term.value === null).length,
    "judge/calls": calls,
    "judge/cache_hits": details.filter((detail) => detail.cached).length,
    ...(calls === 0 ? {} : { "judge/latency_ms": waited / calls }),
    "judge/cost": cost,
  };
}
