import type { ReactNode } from "react";
import { isActive, useRun } from "../../stores/run/run.ts";
import { TrainingRows } from "../data/training-rows.tsx";
import { MixTable } from "./mix-table.tsx";
import { ModelPanel } from "./model-panel.tsx";
import { Preflight } from "./preflight.tsx";
import { PresetCards } from "./preset-cards.tsx";
import { SettingsForm } from "./settings-form.tsx";
import styles from "./setup-screen.module.css";
import { StartBar } from "./start-bar.tsx";

/** Preset, settings, model and forecast of the next run. */
export function SetupScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className={`grid gap-4 align-start p-4 ${styles.screen}`}>
      <h1 className="visually-hidden">Setup</h1>
      <div className="column-flex gap-4 min-0">
        {active && (
          <p className="p-2-3 warn warn-soft round-m">
            The run in progress keeps its settings. Changes apply to the next run.
          </p>
        )}
        <PresetCards />
        <SettingsForm />
      </div>
      <div className={styles.side}>
        <div className="column-flex gap-4 min-0">
          <StartBar />
          <TrainingRows />
          <ModelPanel />
          <MixTable />
          <Preflight />
        </div>
      </div>
    </div>
  );
}
