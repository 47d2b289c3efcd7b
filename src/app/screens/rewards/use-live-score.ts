/** The score of a caption and a mask while they are edited; only the newest edit counts. */

import type { LabConfig } from "../../../engine/config/table.ts";
import { LabError } from "../../../engine/errors.ts";
import { rewardPlan, withoutJudge } from "../../../engine/rewards/composer/plan.ts";
import type { RolloutFacts } from "../../../engine/rewards/term.ts";
import type { ScoredRollout } from "../../../engine/rewards/types.ts";
import { LOOP_IDS, type LoopId, perLoop } from "../../../engine/rl/loops/abouts.ts";
import { lab } from "../../clients/lab.ts";
import { useAsync } from "../../components/use-async.ts";

export interface LiveScore {
  readonly loops: Readonly<Record<LoopId, ScoredRollout>> | null;
  readonly problem: string | null;
  readonly busy: boolean;
}

/** Milliseconds without an edit before scoring. */
const PAUSE_MS = 60;

/** METEOR replaces the judge, so that keystrokes make no requests. */
export function useLiveScore(facts: Omit<RolloutFacts, "loop">, config: LabConfig): LiveScore {
  const { value, problem, busy } = useAsync(
    "score",
    async (_, signal) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      // A newer edit came first, so this score is dropped.
      if (signal.aborted) return null;
      const plan = withoutJudge(rewardPlan(config));
      const one = async (loop: LoopId): Promise<ScoredRollout> => {
        const [scored] = await lab().reward.scoreGroup([{ ...facts, loop }], plan);
        if (scored === undefined) throw new LabError("internal", "A rollout got no score");
        return scored;
      };
      const scored = await Promise.all(LOOP_IDS.map(one));
      return perLoop((loop) => scored[LOOP_IDS.indexOf(loop)] as ScoredRollout);
    },
    [facts, config],
  );
  return { loops: value ?? null, problem, busy };
}
