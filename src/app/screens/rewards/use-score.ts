import { useMemo } from "react";
import { shownLoops } from "../../../engine/config/derived.ts";
import { hasWeight, weightKey } from "../../../engine/config/groups/reward-weights.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { LabError, thrownText } from "../../../engine/errors.ts";
import { rewardPlan, withoutJudge } from "../../../engine/rewards/composer/plan.ts";
import type { ScoredRollout } from "../../../engine/rewards/types.ts";
import { LOOP_IDS, type LoopId, perLoop } from "../../../engine/rl/loops/abouts.ts";
import { lab } from "../../clients/lab.ts";
import type { LiveScore, Trial } from "../../components/place/page-plugin.ts";
import { useAsync } from "../../components/use-async.ts";
import { useSession } from "../../stores/session.ts";

/** Milliseconds without an edit before scoring. */
const PAUSE_MS = 60;

/** Scores a trial with the settings of the page. METEOR replaces the judge, so that keystrokes make no requests. */
export function useScore(row: RegionSummary | undefined, trial: Trial | null): LiveScore {
  const config = useSession((session) => session.config);
  const facts = useMemo(
    () =>
      row === undefined || trial === null
        ? null
        : {
            reference: row.caption,
            caption: trial.caption,
            given: row.mask,
            predicted: trial.mask,
            confidence: 1,
            truncated: false,
          },
    [row, trial],
  );
  const { value, problem, busy } = useAsync(
    facts === null ? null : "score",
    async (_, signal) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      // A newer edit came first, so this score is dropped.
      if (signal.aborted || facts === null) return null;
      const one = async (loop: LoopId, settings: typeof config): Promise<ScoredRollout> => {
        const plan = withoutJudge(rewardPlan(settings));
        const [scored] = await lab().reward.scoreGroup([{ ...facts, loop }], plan);
        if (scored === undefined) throw new LabError("internal", "A rollout got no score");
        return scored;
      };
      let custom: number | null = null;
      let customProblem: string | null = null;
      if (config.userReward.trim() !== "") {
        const [first = 1] = shownLoops(config);
        try {
          const { terms } = await one(first, { ...config, [weightKey(first, "user")]: 1 });
          custom = terms.find(({ name }) => name === "user")?.value ?? null;
        } catch (thrown) {
          customProblem = thrownText(thrown);
        }
      }
      if (customProblem !== null && hasWeight(config, "user")) return { loops: null, custom, customProblem };
      const scored = await Promise.all(LOOP_IDS.map((loop) => one(loop, config)));
      const loops = perLoop((loop) => scored[LOOP_IDS.indexOf(loop)] as ScoredRollout);
      return { loops, custom, customProblem };
    },
    [facts, config],
  );
  return { loops: null, custom: null, customProblem: null, ...value, problem, busy };
}
