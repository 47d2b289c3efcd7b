import type { ReactNode } from "react";
import { changedSettings } from "../../../engine/config/parse.ts";
import { PRESETS, type Preset } from "../../../engine/config/presets.ts";
import { usesSetting } from "../../../engine/config/uses.ts";
import { report } from "../../clients/lab.ts";
import { evidenceApplies, openPocketModel } from "../../clients/loading.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { Badge } from "../../components/ui/button.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { choosePreset, presetValues, useSession } from "../../stores/session.ts";
import { TrainingRows } from "../data/filter-line.tsx";
import { changesText, settingChange } from "../runs/run-list.ts";
import { ModelPanel } from "./model-panel.tsx";
import { Preflight } from "./preflight.tsx";
import { SettingsForm } from "./settings-form.tsx";
import styles from "./setup.module.css";

/** Model, preset and settings of the next run, and beside the start button what it needs. */
export function SetupScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className="screen">
      <header className="row wrap gap-2-3 between">
        <h1>Setup</h1>
        <PluginPanels at="settings-file" given={{}} quiet />
      </header>
      {active && (
        <p className="p-2-3 warn warn-soft round-m">
          The run in progress keeps its settings. Changes apply to the next run.
        </p>
      )}
      <div className={`grid gap-4 align-start ${styles.columns}`}>
        <div className="column-flex gap-4 min-0">
          <ModelPanel />
          <Presets />
          <SettingsForm />
        </div>
        <div className={`column-flex gap-4 min-0 stays ${styles.side}`}>
          <Preflight />
          <TrainingRows />
          <PluginPanels at="mix" given={{}} quiet />
        </div>
      </div>
    </div>
  );
}

/** Presets; selecting one sets all its values. */
export function Presets(): ReactNode {
  const chosen = useSession((session) => session.preset);
  const applies = useSession(evidenceApplies);
  const preset: Preset | undefined = PRESETS.find(({ name }) => name === chosen);
  const cards = (more: boolean): ReactNode => (
    <div className={`grid gap-2 ${styles.cards}`}>
      {PRESETS.filter((entry: Preset) => (entry.more === true) === more).map((entry) => (
        <Card key={entry.name} {...entry} chosen={entry.name === chosen} />
      ))}
    </div>
  );
  return (
    <section aria-label="Presets" className="grid gap-2">
      {cards(false)}
      {preset?.evidence !== undefined && applies && <p className="muted small">{preset.evidence}.</p>}
      <details className="fold" open={preset?.more}>
        <summary>More presets</summary>
        {cards(true)}
      </details>
    </section>
  );
}

function Card({ name, title, summary, chosen }: Preset & { readonly chosen: boolean }): ReactNode {
  const config = useSession((session) => session.config);
  const plan = useSession((session) => session.plan);
  const base = presetValues(name, plan);
  // What no run with these settings reads is no change, and the memory of the GPU belongs to no preset.
  const changed = (chosen ? changedSettings(config, base) : []).filter(
    (key) => key !== "gpuMemory" && usesSetting(key, config),
  );
  return (
    <button
      type="button"
      className="choice column-flex gap-2px p-3 text-left pointer surface framed round-l"
      aria-pressed={chosen}
      data-testid={`preset-${name}`}
      onClick={() => {
        choosePreset(name);
        if (!isActive(useRun.getState().state)) report(openPocketModel(name));
      }}
    >
      <span className="row gap-2 bold">
        {title}
        {changed.length > 0 && (
          <span title={changesText(changed.map((key) => settingChange(key, base, config)))}>
            <Badge tone="accent">{changed.length} changed</Badge>
          </span>
        )}
      </span>
      <span className="muted small">{summary}.</span>
    </button>
  );
}
