/** Which runs are listed, in which groups, and how a run differs from the one before it. */
import { changedSettings, isTextSetting, SETTING_KEYS } from "../../../engine/config/parse.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { shortened } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { valueText } from "../../components/settings/field.tsx";
import type { Route } from "../../stores/route.ts";
import { NONE } from "../../styles/format.ts";

/**
 * Whether a run fits a filter: each word must occur in its title, id, model, data, tags or notes, or be a condition
 * `tag:NAME`, `state:NAME` or `SETTING=VALUE`.
 */
export function fitsFilter(run: RunDigest, filter: string): boolean {
  const { title, id, model, data } = run.manifest;
  const text = [title, id, model.name, data.name, ...run.notes.tags, run.notes.text].join("\n").toLowerCase();
  return words(filter).every((word) => conditionOf(word)?.(run) ?? text.includes(word));
}

/** Words of a filter that are written like conditions and are none, so that they are searched as text. */
export function unknownConditions(filter: string): readonly string[] {
  return words(filter).filter((word) => CONDITION.test(word) && conditionOf(word) === null);
}

const CONDITION = /^(\w+)([:=])(.+)$/;
/** Words as in the status strip: a run stored as paused was stopped and can be resumed. */
export const STATE_WORDS = { running: "running", paused: "stopped", finished: "finished", failed: "failed" } as const;

/** The condition that a word states; null for a text. */
function conditionOf(word: string): ((run: RunDigest) => boolean) | null {
  const [, name = "", sign, wanted = ""] = CONDITION.exec(word) ?? [];
  if (sign === ":" && name === "tag") return ({ notes }) => notes.tags.some((tag) => tag.toLowerCase() === wanted);
  const state = Object.entries(STATE_WORDS).find((names) => names.includes(wanted))?.[0];
  if (sign === ":" && name === "state" && state !== undefined) return ({ manifest }) => manifest.state === state;
  const key = sign === "=" ? SETTING_KEYS.find((known) => known.toLowerCase() === name) : undefined;
  return key === undefined ? null : ({ manifest }) => String(manifest.config[key]).toLowerCase() === wanted;
}

/** Words of a filter in lower case; quotes hold words together: tag:"long captions". */
function words(filter: string): string[] {
  return [...filter.toLowerCase().matchAll(/(?:[^\s"]|"[^"]*")+/g)].map(([word]) => word.replaceAll('"', ""));
}

/** The condition for a tag. */
export const tagFilter = (tag: string): string => (/\s/.test(tag) ? `tag:"${tag}"` : `tag:${tag}`);

/** Runs in groups, in the order of their first run. */
export function grouped(runs: readonly RunDigest[], by: Route["by"]): (readonly [name: string, runs: RunDigest[]])[] {
  const groups = new Map<string, RunDigest[]>();
  for (const run of runs) {
    const { model, data } = run.manifest;
    const name = { none: "", tag: run.notes.tags[0] ?? "no tag", data: data.name, model: model.name }[by];
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [run]);
    else known.push(run);
  }
  return [...groups];
}

/** One changed setting. */
export interface Change {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

/** Changes in one text, a line each. */
export const changesText = (changes: readonly Change[]): string =>
  changes.map(({ label, before, after }) => `${label}: ${before} → ${after}`).join("\n");

/** Differences to an earlier run: settings, the reward first, then model and data. */
export function runChanges(run: RunManifest, before: RunManifest): Change[] {
  const changes = changedSettings(run.config, before.config).map((key) =>
    settingChange(key, before.config, run.config),
  );
  for (const part of ["model", "data"] as const) {
    if (run[part].hash === before[part].hash) continue;
    changes.push({ label: part === "model" ? "Model" : "Data", before: before[part].name, after: run[part].name });
  }
  return changes;
}

/** A setting before and after. */
export function settingChange(key: SettingKey, from: LabConfig, to: LabConfig): Change {
  const [before, after] = [settingText(from, key), settingText(to, key)];
  return { label: SETTINGS[key].label, before, after: before === after ? "edited" : after };
}

/** The run that a run changed: its parent, else the one that started most recently before it; null for the first. */
export function previousRun(run: RunManifest, all: readonly RunManifest[]): RunManifest | null {
  const parent = all.find(({ id }) => id === run.forkedFrom?.run);
  if (parent !== undefined) return parent;
  const earlier = all.filter(({ id, created }) => id !== run.id && created < run.created);
  return earlier.reduce<RunManifest | null>(
    (latest, one) => (latest === null || one.created > latest.created ? one : latest),
    null,
  );
}

/** A setting's value in a list of differences; code by its name. */
export function settingText(config: LabConfig, key: SettingKey): string {
  const value: LabConfig[SettingKey] | undefined = config[key];
  if (value === undefined) return NONE;
  if (key === "userReward" && value !== "") return codeName(String(value));
  return shortened(valueText(key, value), isTextSetting(key) ? 30 : 60);
}

/** The name that code gives itself in a comment on its first line. */
function codeName(code: string): string {
  const name = /^\s*(?:\/\/|\/\*+)\s*(.+?)\s*(?:\*\/)?$/.exec(code.trimStart().split("\n")[0] ?? "")?.[1];
  return shortened(name ?? "custom function", 30);
}
