/** Settings of a run from a command line: preset, then file, then flags of their own, then `--set`, each over the one before. */
import { readFileSync } from "node:fs";
import { requireParsed } from "../../src/engine/config/parse.ts";
import { PRESETS, type PresetName, presetConfig } from "../../src/engine/config/presets.ts";
import { readSettingsFile } from "../../src/engine/config/settings-file.ts";
import type { LabConfig, SettingKey } from "../../src/engine/config/table.ts";
import { LabError } from "../../src/engine/errors.ts";
import { one, type Parsed } from "./arguments.ts";
import { judgeFlags } from "./node-judge.ts";

export const SETTINGS_OPTIONS = {
  preset: { takes: 1 },
  config: { takes: 1 },
  set: { takes: 1 },
} as const;

export interface ChosenSettings {
  readonly preset: PresetName;
  readonly config: LabConfig;
  /** Settings that file or command line name, by the lab's own names. */
  readonly given: Partial<LabConfig>;
}

/**
 * @param flags options that stand for a setting, beside those of the judge
 * @param tell gets the sentences about what was translated from TRL's names
 * @throws LabError("bad-input" | "bad-config") naming file, option or setting
 */
export function chosenSettings(
  parsed: Parsed,
  flags: readonly (readonly [flag: string, key: SettingKey])[],
  tell: (sentence: string) => void,
): ChosenSettings {
  const preset = presetOf(parsed);
  let config = presetConfig(preset);
  let given: Partial<LabConfig> = {};
  const take = (values: Readonly<Record<string, unknown>>, from: string): void => {
    const read = requireParsed(values, config, from, tell);
    config = read.config;
    given = { ...given, ...read.given };
  };
  const file = one(parsed, "config");
  if (file !== undefined) take(readFile(file), file);
  const named = flags.flatMap(([flag, key]) => {
    const value = one(parsed, flag);
    return value === undefined ? [] : [[key, value] as const];
  });
  take({ ...judgeFlags(parsed, config), ...Object.fromEntries(named) }, "command line");
  take(Object.fromEntries((parsed.get("set") ?? []).map(pairOf)), "--set");
  return { preset, config, given };
}

function presetOf(parsed: Parsed): PresetName {
  const name = one(parsed, "preset") ?? "demo";
  const found = PRESETS.find((known) => known.name === name);
  if (found !== undefined) return found.name;
  const names = PRESETS.map((known) => known.name).join(", ");
  throw new LabError("bad-input", `--preset must be one of ${names}, not "${name}"`, { subject: "preset" });
}

function pairOf(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
  throw new LabError("bad-input", `--set takes name=value, such as groupSize=8, not "${word}"`, { subject: "set" });
}

function readFile(file: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new LabError("bad-input", `${file} cannot be read`, { subject: file, cause });
  }
  return readSettingsFile(text, file);
}
