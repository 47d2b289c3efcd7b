import { configDifference, SETTING_KEYS } from "../../../engine/config/parse.ts";
import { type LabConfig, SETTINGS } from "../../../engine/config/table.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";

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

/** Label of a setting in the list of differences. */
export function settingText(config: LabConfig, key: keyof LabConfig): string {
  const value: unknown = config[key];
  return value === undefined ? "–" : typeof value === "boolean" ? (value ? "on" : "off") : String(value);
}
