import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { isStoredRow } from "../../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { Trial } from "../../components/place/page-plugin.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { Composer } from "./composer.tsx";
import { CustomReward } from "./custom-reward.tsx";
import { Judge } from "./judge.tsx";
import styles from "./rewards-screen.module.css";
import { useScore } from "./use-score.ts";

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
    side.current?.scrollIntoView({ block: "nearest", behavior: "smooth" });
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
          <CustomReward
            value={score.custom}
            problem={score.customProblem}
            row={row === undefined ? null : rows.indexOf(row) + 1}
          />
        </div>
        <div className={`grid gap-4 min-0 ${styles.side}`} ref={side}>
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
      <Judge />
      <PluginPanels at="rewards" given={{ onTrial: tryOut }} />
    </div>
  );
}

function trialOf(row: RegionSummary): Trial {
  return { rowId: row.id, imageId: row.imageId, caption: row.caption, mask: row.mask };
}
