import type { ReactNode } from "react";
import { PluginPanels } from "../../components/place/place.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { Composer } from "./composer.tsx";
import styles from "./rewards.module.css";

/** Compose a reward; plug-ins try it on rows and on a whole shard before training. */
export function RewardsScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className="screen" data-testid="screen-rewards">
      <h1>Rewards</h1>
      {active && (
        <p className="p-2-3 warn-soft round-m">
          The run in progress keeps its rewards and its judge. Changes on this screen apply to the next run; only a new
          key of the judge is used at once.
        </p>
      )}
      <div className={`grid gap-4 align-start ${styles.top}`}>
        <div className="grid gap-4 min-0">
          <Composer />
          <PluginPanels at="custom-reward" given={{}} />
        </div>
        <div className="grid gap-4 min-0 stays">
          <PluginPanels at="trial" given={{}} />
        </div>
      </div>
      <PluginPanels at="judge" given={{}} />
      <PluginPanels at="rewards" given={{}} />
    </div>
  );
}
