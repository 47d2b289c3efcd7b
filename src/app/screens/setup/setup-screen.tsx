import type { ReactNode } from "react";
import { isActive, useRun } from "../../stores/run.ts";
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
    <div className={styles.screen}>
      <h1 className="visually-hidden">Setup</h1>
      <div className={styles.main}>
        {active && <p className={styles.note}>The run in progress keeps its settings. Changes apply to the next run</p>}
        <PresetCards />
        <SettingsForm />
      </div>
      <div className={styles.side}>
        <div className={styles.fixed}>
          <StartBar />
          <ModelPanel />
          <Preflight />
        </div>
      </div>
    </div>
  );
}
