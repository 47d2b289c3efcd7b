import { configDifference, SETTING_KEYS } from "../../../engine/config/parse.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { shortened } from "../../../engine/errors.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { valueText } from "../../components/settings/setting-values.ts";
import { NONE } from "../../styles/format.ts";

/** One changed setting. */
export interface Change {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

/** Differences to an earlier run: settings in table order, then model and data. */
export function runChanges(run: RunManifest, before: RunManifest): Change[] {
  const differs = configDifference(run.config, before.config);
  const changes: Change[] = SETTING_KEYS.filter((key) => key in differs).map((key) => ({
    label: SETTINGS[key].label,
    before: settingText(before.config, key),
    after: settingText(run.config, key),
  }));
  if (run.model.hash !== before.model.hash) {
    changes.push({ label: "Model", before: before.model.name, after: run.model.name });
  }
  if (run.data.hash !== before.data.hash) {
    changes.push({ label: "Data", before: before.data.name, after: run.data.name });
  }
  return changes;
}

/** The run that started most recently before `run`; null for the first. */
export function previousRun(run: RunManifest, all: readonly RunManifest[]): RunManifest | null {
  let latest: RunManifest | null = null;
  for (const candidate of all) {
    if (candidate.id === run.id || candidate.created >= run.created) continue;
    if (latest === null || candidate.created > latest.created) latest = candidate;
  }
  return latest;
}

/** A setting's value in a list of differences; a text may be code and is shortened. */
export function settingText(config: LabConfig, key: SettingKey): string {
  const value: LabConfig[SettingKey] | undefined = config[key];
  return value === undefined ? NONE : shortened(valueText(key, value), 60);
}
