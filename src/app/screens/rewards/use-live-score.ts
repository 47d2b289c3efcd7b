/** The score of a caption and a mask while they are edited; always of the newest edit. */
import { useEffect, useState } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import { toLabError } from "../../../engine/errors.ts";
import { actingWeights, type RewardPlan, rewardPlan } from "../../../engine/rewards/composer/plan.ts";
import type { RolloutFacts, ScoredRollout } from "../../../engine/rewards/types.ts";
import { lab } from "../../clients/lab.ts";

export interface LiveScore {
  readonly loops: Readonly<Record<1 | 2, ScoredRollout>> | null;
  /** Why it cannot be scored. */
  readonly problem: string | null;
  readonly busy: boolean;
}

/** Milliseconds without an edit before scoring. */
const PAUSE_MS = 60;

/**
 * The plan of a try-out: METEOR replaces the judge, so that keystrokes make no requests.
 * @param judge whether to use the judge
 */
export function tryOutPlan(config: LabConfig, judge: boolean): RewardPlan {
  const plan = rewardPlan(config);
  if (judge) return plan;
  return { ...plan, weights: { 1: actingWeights(plan.weights[1], false), 2: actingWeights(plan.weights[2], false) } };
}

export function useLiveScore(facts: Omit<RolloutFacts, "loop"> | null, config: LabConfig): LiveScore {
  const [score, setScore] = useState<LiveScore>({ loops: null, problem: null, busy: false });
  useEffect(() => {
    if (facts === null) return;
    let current = true;
    setScore((before) => ({ ...before, busy: true }));
    const timer = window.setTimeout(() => {
      const plan = tryOutPlan(config, false);
      const one = (loop: 1 | 2): Promise<readonly ScoredRollout[]> =>
        lab().reward.scoreGroup([{ ...facts, loop }], plan);
      Promise.all([one(1), one(2)]).then(
        ([[first], [second]]) => {
          if (!current || first === undefined || second === undefined) return;
          setScore({ loops: { 1: first, 2: second }, problem: null, busy: false });
        },
        (thrown: unknown) => {
          if (current) setScore({ loops: null, problem: toLabError(thrown).message, busy: false });
        },
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      window.clearTimeout(timer);
    };
  }, [facts, config]);
  return score;
}
