import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { shownLoops } from "../../../engine/config/derived.ts";
import { hasWeight, weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { isStoredRow } from "../../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { LabError, thrownText } from "../../../engine/errors.ts";
import { rewardPlan, withoutJudge } from "../../../engine/rewards/composer/plan.ts";
import type { ScoredRollout } from "../../../engine/rewards/types.ts";
import { LOOP_IDS, type LoopId, perLoop } from "../../../engine/rl/loops/abouts.ts";
import { lab } from "../../clients/lab.ts";
import type { LiveScore, Trial } from "../../components/place/page-plugin.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { useAsync } from "../../components/use-async.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { Composer } from "./composer.tsx";
import styles from "./rewards-screen.module.css";

/** Compose a reward and try it on rows and on a whole shard before training. */
export function RewardsScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  const rows = useSession((session) => session.rows);
  const [given, setGiven] = useState<Trial | null>(null);
  const chosen = given === null ? undefined : rows.find((row) => isStoredRow(row, given));
  const row = chosen ?? rows[0];
  const trial = useMemo(
    () => (row === undefined ? null : given === null || chosen === undefined ? trialOf(row) : given),
    [row, given, chosen],
  );
  const score = useScore(row, trial);
  const side = useRef<HTMLDivElement>(null);
  const tryOut = useCallback((next: Trial): void => {
    setGiven(next);
    side.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <div className="screen" data-testid="screen-rewards">
      <h1>Rewards</h1>
      {active && (
        <p className="p-2-3 warn-soft round-m">
          The run in progress keeps its rewards and its judge. A new key takes effect at once; all other changes take
          effect with the next run.
        </p>
      )}
      <div className={`grid gap-4 align-start ${styles.top}`}>
        <div className="grid gap-4 min-0">
          <Composer />
          <PluginPanels
            at="custom-reward"
            given={{
              value: score.custom,
              problem: score.customProblem,
              row: row === undefined ? null : rows.indexOf(row) + 1,
            }}
          />
        </div>
        <div className="grid gap-4 min-0 stays" ref={side}>
          {row === undefined || trial === null ? (
            <section className="p-4 surface framed round-l" aria-label="Try out">
              <p className="muted">Open shards to paint on their rows</p>
            </section>
          ) : (
            <PluginPanels
              key={row.id}
              at="trial"
              given={{ row, rows, trial, score, onRow: (next) => setGiven(trialOf(next)), onTrial: setGiven }}
            />
          )}
        </div>
      </div>
      <PluginPanels at="judge" given={{}} />
      <PluginPanels at="rewards" given={{ onTrial: tryOut }} />
    </div>
  );
}

function trialOf(row: RegionSummary): Trial {
  return { rowId: row.id, imageId: row.imageId, caption: row.caption, mask: row.mask };
}

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
