import { type ReactNode, useMemo, useState } from "react";
import { rowsPerStep } from "../../../engine/config/derived.ts";
import { weightKeys } from "../../../engine/config/groups/reward-weights.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { SETTING_GROUPS, type Setting, type SettingGroup } from "../../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { settingNote } from "../../../engine/config/uses.ts";
import { lab } from "../../clients/lab.ts";
import { Field, findSettings } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Select, TextInput } from "../../components/ui/controls.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { useAsync } from "../../components/use-async.ts";
import { useSession } from "../../stores/session.ts";
import { counted, fixed } from "../../styles/format.ts";
import styles from "./setup.module.css";

const WEIGHTS: readonly string[] = weightKeys();

/** The main settings and those that differ from the preset; a search finds all that a run reads. */
export function SettingsForm(): ReactNode {
  const config = useSession((session) => session.config);
  const preset = useSession((session) => session.preset);
  const base = useMemo(() => presetConfig(preset), [preset]);
  const [query, setQuery] = useState("");
  const [group, setGroup] = useState<SettingGroup | "">("");
  const all = findSettings("", config);
  const searches = query.trim() !== "" || group !== "";
  const isShown = (key: SettingKey): boolean => {
    const setting: Setting = SETTINGS[key];
    if (searches) return group === "" || setting.group === group;
    // The weights of rewards have their own table.
    return setting.main === true || (config[key] !== base[key] && !WEIGHTS.includes(key));
  };
  const keys = (searches ? findSettings(query, config) : all).filter(isShown);
  return (
    <Panel
      title="Settings"
      aside={
        <div className={`flex wrap gap-2 ${styles.search}`}>
          <TextInput
            type="search"
            data-testid="search-settings"
            aria-label="Search all settings"
            placeholder={`Search ${all.length} settings`}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <Select
            label="Group of settings"
            options={[
              { value: "", label: "Any group" },
              ...Object.entries(SETTING_GROUPS).map(([value, label]) => ({ value: value as SettingGroup, label })),
            ]}
            value={group}
            onChange={setGroup}
          />
        </div>
      }
    >
      {searches && (
        <p className="row wrap gap-2 mb-3 muted" role="status" data-testid="found-settings">
          {counted(keys.length, "setting")} found. Those that the next run does not use are left out.
          <Button
            kind="quiet"
            onClick={() => {
              setQuery("");
              setGroup("");
            }}
          >
            Show the main settings
          </Button>
        </p>
      )}
      <div className={styles.fields} data-testid="settings">
        {keys.map((key) => (
          <Field key={key} name={key} value={config[key]} base={base[key]}>
            {key === "steps" ? <RunLength config={config} /> : settingNote(key, config)}
          </Field>
        ))}
      </div>
    </Panel>
  );
}

/** The length of the next run in epochs. */
function RunLength({ config }: { readonly config: LabConfig }): ReactNode {
  // Null until all rows are open.
  const data = useSession((session) => session.dataInfo);
  const { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare, steps } = config;
  const split = { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare };
  const { value, problem } = useAsync(data, () => lab().data.trainRows(split), Object.values(split));
  return (
    <p data-testid="run-length">
      {problem !== null && <span className="bad">{problem}</span>}
      {value && `${fixed((steps * rowsPerStep(config)) / value)} epochs of ${counted(value, "training row")}`}
    </p>
  );
}
