import { type ReactNode, useMemo } from "react";
import { presetConfig } from "../../../engine/config/presets.ts";
import { Field } from "../../components/settings/field.tsx";
import { fieldGroups } from "../../components/settings/setting-values.ts";
import { Switch } from "../../components/ui/controls.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { setShowAdvanced, useSession } from "../../stores/session.ts";
import { ConfigFile } from "./config-file.tsx";
import { RunLength } from "./run-length.tsx";
import { ScheduleCurve } from "./schedule-curve.tsx";
import styles from "./settings-form.module.css";

/** One field per row of the settings table, in its groups. */
export function SettingsForm(): ReactNode {
  const config = useSession((session) => session.config);
  const preset = useSession((session) => session.preset);
  const all = useSession((session) => session.showAdvanced);
  const base = useMemo(() => presetConfig(preset), [preset]);
  const groups = fieldGroups(config, base, all);
  return (
    <>
      <div className="row wrap gap-2-4 between">
        <label className="inline-flex gap-2 align-centre pointer" htmlFor="all-settings">
          <Switch id="all-settings" checked={all} onChange={setShowAdvanced} testId="all-settings" />
          Show all settings
        </label>
        <ConfigFile />
      </div>
      <div className={styles.groups}>
        {groups.map((group) => (
          <Panel key={group.id} title={group.title}>
            {group.id === "optimiser" && <ScheduleCurve config={config} />}
            <div className="column-flex">
              {group.keys.map((key) => (
                <Field key={key} name={key} value={config[key]} base={base[key]}>
                  {key === "steps" && <RunLength config={config} />}
                </Field>
              ))}
            </div>
          </Panel>
        ))}
      </div>
    </>
  );
}
