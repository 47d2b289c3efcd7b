import { type ReactNode, useCallback, useRef, useState } from "react";
import type { Trial } from "../../components/place/page-plugin.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { Composer } from "./composer.tsx";
import { CustomReward } from "./custom-reward.tsx";
import styles from "./rewards-screen.module.css";
import { TryOut } from "./try-out.tsx";

/** Compose a reward and try it on rows and on a whole shard before training. */
export function RewardsScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  const [trial, setTrial] = useState<Trial | null>(null);
  const side = useRef<HTMLDivElement>(null);
  const tryOut = useCallback((next: Trial): void => {
    setTrial(next);
    side.current?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }, []);
  return (
    <div className={`grid gap-4 p-4 ${styles.screen}`} data-testid="screen-rewards">
      <h1 className="visually-hidden">Rewards</h1>
      {active && (
        <p className="p-2-3 warn-soft round-m">The run in progress keeps its rewards. Changes apply to the next run.</p>
      )}
      <div className={`grid gap-4 align-start ${styles.top}`}>
        <div className="grid gap-4 min-0">
          <Composer />
          <CustomReward />
        </div>
        <div className="grid gap-4 min-0" ref={side}>
          <TryOut trial={trial} onTrial={setTrial} />
        </div>
      </div>
      <PluginPanels at="rewards" given={{ onTrial: tryOut }} />
    </div>
  );
}
