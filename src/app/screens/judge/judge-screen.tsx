import type { ReactNode } from "react";
import { isActive, useRun } from "../../stores/run/run.ts";
import { AgreementPanel } from "./agreement-panel.tsx";
import { CalibrationPanel } from "./calibration-panel.tsx";
import { ConnectionPanel } from "./connection-panel.tsx";
import styles from "./judge.module.css";
import { LimitsPanel } from "./limits-panel.tsx";
import { PairPanel } from "./pair-panel.tsx";
import { PromptsPanel } from "./prompts-panel.tsx";
import { TestPanel } from "./test-panel.tsx";
import { useJudgedRollouts } from "./use-judged-rollouts.ts";

/** The language model that judges captions: connection, prompts, tests and agreement. */
export function JudgeScreen(): ReactNode {
  const judged = useJudgedRollouts();
  const active = useRun((run) => isActive(run.state));
  return (
    <div className={`grid gap-4 p-4 align-start ${styles.screen}`} data-testid="screen-judge">
      <h1 className="visually-hidden">Judge</h1>
      <div className="column-flex gap-4 min-0">
        {active && (
          <p className="p-2-3 warn warn-soft round-m">
            The run in progress keeps its judge. A new key takes effect at once; all other changes take effect with the
            next run.
          </p>
        )}
        <ConnectionPanel />
        <LimitsPanel />
        <PromptsPanel />
      </div>
      <div className="column-flex gap-4 min-0">
        <TestPanel />
        <PairPanel />
        <CalibrationPanel groups={judged.groups} />
        <AgreementPanel judged={judged} />
      </div>
    </div>
  );
}
